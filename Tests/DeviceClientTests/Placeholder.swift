// DeviceClientTests
