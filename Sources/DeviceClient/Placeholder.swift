// DeviceClient
