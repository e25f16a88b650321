// KeywordPIRTests
