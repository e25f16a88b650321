// RingMathTests
