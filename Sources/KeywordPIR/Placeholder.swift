// KeywordPIR
