//! Reads arguments of any text for each rail. The request is the same however the JSON is spaced,
//! its normal form reads as itself, and a refusal names the problem.
#![no_main]

use calldata_checks::Rail;
use libfuzzer_sys::fuzz_target;
use plan_builder::Request;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let rail = Rail::ALL[usize::from(*choice) % Rail::ALL.len()];
    let request = match Request::parse(rail, text) {
        Ok(request) => request,
        Err(refusal) => {
            assert!(!refusal.check.is_empty() && !refusal.message.is_empty());
            return;
        }
    };
    assert_eq!(request.rail(), rail);
    let digest = request.intent_digest().unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    for spelled in [serde_json::to_string_pretty(&value), normal_form(&request)] {
        let again = Request::parse(rail, &spelled.unwrap());
        assert_eq!(again.as_ref(), Ok(&request));
        assert_eq!(again.unwrap().intent_digest(), Ok(digest));
    }
});

fn normal_form(request: &Request) -> serde_json::Result<String> {
    match request {
        Request::Swap(request) => serde_json::to_string(request),
        Request::Bridge(request) => serde_json::to_string(request),
        Request::PmOrder(request) => serde_json::to_string(request),
        Request::PerpOrder(request) => serde_json::to_string(request),
    }
}
