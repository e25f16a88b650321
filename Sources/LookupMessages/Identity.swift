// The values of Live Caller ID Lookup and the input of the dataset constructor: keyword-pir.md 11.2, service.md 1.7.6.

import Protobuf

/// The format of an icon.
public struct IconFormat: ProtobufEnum {
    /// The number on the wire.
    public var rawValue: Int32

    /// The value with this number, named or not.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// None.
    public static let unspecified = IconFormat(rawValue: 0)

    /// HEIC.
    public static let heic = IconFormat(rawValue: 1)

    static let schema = EnumSchema([
        (0, "ICON_FORMAT_UNSPECIFIED"),
        (1, "ICON_FORMAT_HEIC"),
    ])
}

/// The kind of caller.
public struct IdentityCategory: ProtobufEnum {
    /// The number on the wire.
    public var rawValue: Int32

    /// The value with this number, named or not.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Not said.
    public static let unspecified = IdentityCategory(rawValue: 0)

    /// A person.
    public static let person = IdentityCategory(rawValue: 1)

    /// A business.
    public static let business = IdentityCategory(rawValue: 2)

    static let schema = EnumSchema([
        (0, "IDENTITY_CATEGORY_UNSPECIFIED"),
        (1, "IDENTITY_CATEGORY_PERSON"),
        (2, "IDENTITY_CATEGORY_BUSINESS"),
    ])
}

/// An icon shown on the call screen.
public struct Icon: TextMessage {
    /// The format of the image.
    public var format: IconFormat = IconFormat(rawValue: 0)
    /// The image file.
    public var image: ArraySlice<UInt8> = []

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(format: IconFormat = IconFormat(rawValue: 0), image: ArraySlice<UInt8> = []) {
        self.format = format
        self.image = image
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: format = try reader.enumeration()
        case 2: image = try reader.bytesValue()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.enumeration(format, field: 1)
        writer.bytes(image, field: 2)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "Icon",
        [
            FieldSchema(1, "format", .enumeration(IconFormat.schema)),
            FieldSchema(2, "image", .bytes),
        ])
}

/// The value of the identity use case; at most 65535 bytes encoded.
public struct CallIdentity: TextMessage {
    /// Shown on the call screen.
    public var name: String = ""
    /// The icon.
    public var icon: Icon?
    /// The device reuses the answer that long.
    public var cacheExpiryMinutes: UInt32 = 0
    /// The kind of caller.
    public var category: IdentityCategory = IdentityCategory(rawValue: 0)

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(
        name: String = "", icon: Icon? = nil, cacheExpiryMinutes: UInt32 = 0,
        category: IdentityCategory = IdentityCategory(rawValue: 0)
    ) {
        self.name = name
        self.icon = icon
        self.cacheExpiryMinutes = cacheExpiryMinutes
        self.category = category
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: name = try reader.string()
        case 2: try reader.message(into: &icon)
        case 3: cacheExpiryMinutes = try reader.uint32()
        case 4: category = try reader.enumeration()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.string(name, field: 1)
        writer.message(icon, field: 2)
        writer.uint32(cacheExpiryMinutes, field: 3)
        writer.enumeration(category, field: 4)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "CallIdentity",
        [
            FieldSchema(1, "name", .string),
            FieldSchema(2, "icon", .message(Icon.schema)),
            FieldSchema(3, "cache_expiry_minutes", .uint32),
            FieldSchema(4, "category", .enumeration(IdentityCategory.schema)),
        ])
}

/// A caller as the dataset constructor reads it.
public struct InputCallIdentity: TextMessage {
    /// Shown on the call screen.
    public var name: String = ""
    /// The device reuses the answer that long.
    public var cacheExpiryMinutes: UInt32 = 0
    /// Whether to block the caller.
    public var block: Bool = false
    /// The kind of caller.
    public var category: IdentityCategory = IdentityCategory(rawValue: 0)

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(
        name: String = "", cacheExpiryMinutes: UInt32 = 0, block: Bool = false,
        category: IdentityCategory = IdentityCategory(rawValue: 0)
    ) {
        self.name = name
        self.cacheExpiryMinutes = cacheExpiryMinutes
        self.block = block
        self.category = category
    }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: name = try reader.string()
        case 2: cacheExpiryMinutes = try reader.uint32()
        case 3: block = try reader.bool()
        case 4: category = try reader.enumeration()
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.string(name, field: 1)
        writer.uint32(cacheExpiryMinutes, field: 2)
        writer.bool(block, field: 3)
        writer.enumeration(category, field: 4)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "InputCallIdentity",
        [
            FieldSchema(1, "name", .string),
            FieldSchema(2, "cache_expiry_minutes", .uint32),
            FieldSchema(3, "block", .bool),
            FieldSchema(4, "category", .enumeration(IdentityCategory.schema)),
        ])
}

/// The constructor's input in memory; `InputIdentityRecords` reads it one by one and shows repeated numbers.
public struct InputIdentities: TextMessage {
    /// Callers by number; the last of equal numbers wins. Written in ascending order.
    public var identities: [String: InputCallIdentity] = [:]

    /// Every field at its default.
    public init() {}

    /// A message with these fields, the others at their default.
    public init(identities: [String: InputCallIdentity] = [:]) {
        self.identities = identities
    }

    /// A file of the operator: as many rows as it has.
    public static var defaultLimits: ProtobufLimits { .file }

    /// Takes one field.
    public mutating func decodeField(_ number: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch number {
        case 1: try reader.mapEntry(into: &identities)
        default: break
        }
    }

    /// Writes the fields in ascending order.
    public func encode(to writer: inout ProtobufWriter) {
        writer.map(identities, field: 1)
    }

    /// The fields as the text format names them.
    public static let schema = MessageSchema(
        "InputIdentities",
        [
            FieldSchema(1, "identities", .map(key: .string, value: .message(InputCallIdentity.schema)), repeated: true)
        ])
}
