// LookupServiceTests
