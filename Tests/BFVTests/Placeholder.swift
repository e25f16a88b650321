// BFVTests
