// The estimate counts what the engine does, and the dimensions that follow are allowed and the best of their kind.

import BFV
import RingMath
import Testing

@testable import KeywordPIR

@Suite struct CostModelTests {
    static let small = "n_4096_logq_27_28_28_logt_5"
    static let large = "n_8192_logq_3x55_logt_24"

    /// Costs nothing but one for each transform.
    private func transformsOnly(_ set: ParameterSet) -> CostModel {
        var costs = OperationCosts.fitted(set)
        let butterflies = Double(set.degree / 2 * set.degree.trailingZeroBitCount)
        (costs.forward, costs.inverse) = (1 / butterflies, 1 / butterflies)
        (costs.keySwitchTerm, costs.addPermuted, costs.split, costs.liftCentered) = (0, 0, 0, 0)
        (costs.subtractAndScale, costs.multiplyAccumulate, costs.columnEnds) = (0, 0, 0)
        (costs.tensorTerm, costs.tensorEnds, costs.convert) = (0, 0, 0)
        return CostModel(set, costs: costs)
    }

    private func whole(_ x: Double) -> Int { Int(x.rounded()) }

    // 8 for the root, 12 for each step but those above leaves, which take 6 (bfv.md 14.3 has 10·m − 1 for these m outputs).
    @Test(arguments: [2, 8, 64, 256]) func transformsOfAnExpansion(m: Int) throws {
        let model = transformsOnly(try ParameterSet.named(Self.small))
        let query = CostModel.Query(hashFunctions: 1, chunks: 1, plaintexts: m, dimensions: [m])
        let estimate = model.estimate(query)
        #expect(whole(estimate.expansion) == 9 * m - 4)
        #expect(whole(estimate.secondDimension) == 4)
    }

    // Five rows: an operand takes 2·(2 + 3) transforms, a sum 15, its relinearization 12.
    @Test func transformsOfProducts() throws {
        let model = transformsOnly(try ParameterSet.named(Self.small))
        let query = CostModel.Query(hashFunctions: 2, chunks: 3, plaintexts: 128, dimensions: [24, 8])
        let estimate = model.estimate(query)
        #expect(whole(estimate.secondDimension) == 6 * (8 * 10 + 15 + 12))
        #expect(whole(estimate.expansion) == 9 * 64 - 4 + 2 * 8 * 10)
    }

    // keyword-pir.md 14.4: key switches with fewer keys, each with four inverse and eight forward transforms.
    @Test func fewerKeysCostMoreSteps() throws {
        let model = transformsOnly(try ParameterSet.named(Self.small))
        func expansion(_ compression: KeyCompression) -> Int {
            whole(
                model.estimate(
                    CostModel.Query(
                        hashFunctions: 1, chunks: 1, plaintexts: 64, dimensions: [64], compression: compression)
                ).expansion)
        }
        #expect(expansion(.hybridCompression) == expansion(.noCompression) + (108 - 63) * 12)
        #expect(expansion(.maxCompression) == expansion(.noCompression) + (192 - 63) * 12)
    }

    @Test(arguments: [small, large], [1, 2, 3]) func choiceIsAllowedAndNoDearerThanTheRules(name: String, functions: Int) throws
    {
        let set = try ParameterSet.named(name)
        let model = CostModel(set)
        for count in [1, 2, 3, 7, 17, 60, 138, 190, 300, 1000, 5313] {
            for (chunks, compression) in [(1, KeyCompression.noCompression), (3, .hybridCompression), (9, .maxCompression)] {
                func cost(_ dimensions: [Int]) -> Double {
                    model.estimate(
                        CostModel.Query(
                            hashFunctions: functions, chunks: chunks, plaintexts: count, dimensions: dimensions,
                            compression: compression)
                    ).total
                }
                func keys(_ dimensions: [Int]) -> Int { ceilLog2(dimensions.reduce(0, +) * functions) }
                func choice(_ rule: DimensionRule) -> [Int] {
                    model.dimensions(
                        plaintexts: count, hashFunctions: functions, chunks: chunks, dimensionCount: 2,
                        compression: compression, rule: rule)
                }
                let (best, uneven) = (choice(.cost), choice(.uneven))
                #expect(best.count == 2 && best[0] * best[1] >= count && best.allSatisfy { $0 >= 1 })
                #expect(cost(best) <= cost(uneven) && cost(best) <= cost(choice(.even)))
                // One key more only for an eighth less.
                let more = keys(best) - keys(uneven)
                #expect(more <= 0 || more == 1 && cost(best) < cost(uneven) * (1 - CostModel.gainForAnotherKey))
                for columns in 1...count {
                    let split = [(count + columns - 1) / columns, columns]
                    if keys(split) <= keys(uneven) { #expect(cost(best) <= cost(split)) }
                }
            }
        }
    }

    @Test func otherRulesAreTheReferences() throws {
        let model = CostModel(try ParameterSet.named(Self.small))
        for count in [1, 10, 15, 17, 190, 299] {
            for uneven in [true, false] {
                let rule: DimensionRule = uneven ? .uneven : .even
                let found = model.dimensions(plaintexts: count, hashFunctions: 2, chunks: 1, dimensionCount: 2, rule: rule)
                #expect(found == dimensions(plaintexts: count, hashFunctions: 2, dimensionCount: 2, uneven: uneven))
            }
            #expect(model.dimensions(plaintexts: count, hashFunctions: 2, chunks: 1, dimensionCount: 1) == [count])
        }
    }

    // A bigger database is never estimated to be cheaper, whatever is chosen for it.
    @Test func costGrowsWithThePlaintexts() throws {
        let model = CostModel(try ParameterSet.named(Self.small))
        var last = 0.0
        for count in [1, 20, 100, 300, 900, 5000] {
            let split = model.dimensions(plaintexts: count, hashFunctions: 2, chunks: 2, dimensionCount: 2)
            let cost = model.estimate(
                CostModel.Query(hashFunctions: 2, chunks: 2, plaintexts: count, dimensions: split)
            ).total
            #expect(cost > last)
            last = cost
        }
    }

    @Test(arguments: ["insecure_n_512_logq_4x60_logt_20", small]) func operationsAreMeasured(name: String) throws {
        let set = try ParameterSet.named(name, allowInsecure: true)
        let costs = try OperationCosts.measured(set, rounds: 1)
        let all = [
            costs.forward, costs.inverse, costs.keySwitchTerm, costs.addPermuted, costs.split, costs.liftCentered,
            costs.subtractAndScale, costs.convert,
        ]
        #expect(all.allSatisfy { $0.isFinite && $0 >= 0 } && costs.forward > 0)
        #expect(costs != .fitted(set))
    }
}
