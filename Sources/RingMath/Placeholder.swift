// RingMath
