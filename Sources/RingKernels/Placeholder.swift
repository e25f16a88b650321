// RingKernels
