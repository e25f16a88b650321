// What the processor can do: asked once at start to choose the kernels.
#pragma once

/// 1 if this processor and its operating system can run AVX2 code, else 0.
int cprocessor_has_avx2(void);
