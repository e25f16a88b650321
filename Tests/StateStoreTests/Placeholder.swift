// StateStoreTests
