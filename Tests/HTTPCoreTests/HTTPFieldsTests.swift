// Field lists: case, order, repetition.

import HTTPCore
import Testing

@Suite struct HTTPFieldsTests {
    @Test func namesAreLowerCaseAndOrderIsKept() {
        var fields: HTTPFields = ["B": "1", "a": "2", "b": "3"]
        #expect(fields.map(\.name) == ["b", "a", "b"])
        #expect(fields["B"] == "1")
        #expect(fields.values("b") == ["1", "3"])
        fields["b"] = "4"
        #expect(fields == ["b": "4", "a": "2"])
        fields["C"] = "5"
        fields.remove("A")
        #expect(fields == ["b": "4", "c": "5"])
        #expect(fields["a"] == nil)
    }

    @Test(arguments: [("close", true), ("x, CLOSE ,y", true), ("closed", false), ("x close", false), ("", false)])
    func listMembers(value: String, holds: Bool) {
        #expect((["connection": value] as HTTPFields).list("Connection", contains: "close") == holds)
    }
}
