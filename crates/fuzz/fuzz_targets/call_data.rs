//! Calldata that a signature explains is the encoding of its arguments, and they are shown within
//! their bounds.
#![no_main]

use alloy_dyn_abi::DynSolValue;
use libfuzzer_sys::fuzz_target;
use readings::chain::abi::{Budget, Signature};

const MOST_SHOWN: usize = 200;

// A signature in the first line, its arguments without the selector in the rest.
fuzz_target!(|data: &[u8]| {
    let line = data.iter().position(|byte| *byte == b'\n');
    let Some((text, arguments)) = line.and_then(|end| data.split_at_checked(end)) else {
        return;
    };
    let Some(signature) = std::str::from_utf8(text).ok().and_then(Signature::parse) else {
        return;
    };
    // The canonical text is a signature of its own, and the same one.
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
