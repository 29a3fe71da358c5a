//! Decodes calldata by a signature. Decoded arguments encode to the same bytes, and are shown
//! within their bounds.
#![no_main]

use alloy_dyn_abi::DynSolValue;
use libfuzzer_sys::fuzz_target;
use readings::chain::abi::{Budget, Signature};

const MOST_SHOWN: usize = 200;

// The first line is a signature; the rest is its arguments without the selector.
fuzz_target!(|data: &[u8]| {
    let line = data.iter().position(|byte| *byte == b'\n');
    let Some((text, arguments)) = line.and_then(|end| data.split_at_checked(end)) else {
        return;
    };
    let Some(signature) = std::str::from_utf8(text).ok().and_then(Signature::parse) else {
        return;
    };
    // The canonical text parses as the same signature.
    let again = Signature::parse(signature.text()).expect("a canonical text");
    assert_eq!(
        (again.text(), again.selector()),
        (signature.text(), signature.selector())
    );

    let call = [signature.selector().as_slice(), &arguments[1..]].concat();
    let Some(decoded) = signature.decode(&call) else {
        return;
    };
    let read = call.len() - decoded.trailing;
    let encoded = DynSolValue::Tuple(decoded.values.clone()).abi_encode_params();
    assert_eq!(encoded, &call[4..read]);
    let shown = signature.arguments(&decoded.values, &mut Budget::of(MOST_SHOWN));
    assert_eq!(shown.len(), decoded.values.len());
});
