//! Parses queries and bodies of any bytes on every route: they are parsed, or every problem is
//! named.
#![no_main]

use libfuzzer_sys::fuzz_target;
use route_catalog::Operation;

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else {
        return;
    };
    let operation = Operation::ALL[usize::from(*choice) % Operation::ALL.len()];
    let route = operation.route();
    let outcome = if route.takes_body() {
        route.parse(None, rest)
    } else {
        let Ok(query) = std::str::from_utf8(rest) else {
            return;
        };
        route.parse(Some(query), b"")
    };
    if let Err(problems) = outcome {
        assert!(!problems.is_empty());
    }
});
