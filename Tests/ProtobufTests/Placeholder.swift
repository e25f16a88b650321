// ProtobufTests
