// BFV
