// LookupMessagesTests
