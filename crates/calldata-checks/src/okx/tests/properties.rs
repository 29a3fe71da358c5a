use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// A changed byte gives the same swap or a named refusal.
    #[test]
    fn a_changed_byte_gives_the_same_facts_or_a_named_refusal(at in any::<prop::sample::Index>(), by in 1u8..) {
        let mut data = [dag().abi_encode(), trim_words(QUOTED, 10)].concat();
        let whole = judged(&data).unwrap();
        let at = at.index(data.len());
        data[at] ^= by;
        match judged(&data) {
            Ok(facts) => {
                prop_assert!(facts.deadline.unwrap() <= U256::from(NOW + 86_400));
                let trim = facts.trim.clone().unwrap();
                prop_assert!(trim.above >= U256::from(QUOTED) && trim.rate_per_mille <= 100);
                prop_assert_eq!(SwapFacts { deadline: whole.deadline, trim: whole.trim.clone(), ..facts }, whole);
            }
            Err(refusal) => prop_assert!(!refusal.code().is_empty()),
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(data in prop::collection::vec(any::<u8>(), 0..600), pick in 0usize..7) {
        let selector = ReviewedContracts::default().selectors[pick];
        let _ = decode(&data);
        let _ = decode(&[selector.as_slice(), &data].concat());
    }

    #[test]
    fn a_route_may_be_anything_but_the_facts_stay(
        raw in any::<[u8; 32]>(),
        extra in prop::collection::vec(any::<u8>(), 0..80),
        order in any::<[u8; 32]>(),
    ) {
        let path = RouterPath {
            rawData: vec![U256::from_be_bytes(raw)],
            extraData: vec![Bytes::from(extra)],
            ..path()
        };
        let call = dagSwapByOrderIdCall { orderId: U256::from_be_bytes(order), paths: vec![path], ..dag() };
        prop_assert_eq!(judged(&call.abi_encode()), judged(&dag().abi_encode()));
    }
}
