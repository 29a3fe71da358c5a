//! Reads router calldata of any bytes. Decoded calldata is of a reviewed function, and its
//! arguments are the same without the bytes after them. Calldata with a commission at its end is
//! never read.
#![no_main]

use calldata_checks::okx::{SwapFacts, decode};
use libfuzzer_sys::fuzz_target;

/// A commission of the router's fee words: its flag, then rate and recipient.
const COMMISSION: [u8; 32] = {
    let mut word = [7; 32];
    (word[0], word[1], word[2], word[3], word[4], word[5]) = (0x3c, 0xa2, 0x0a, 0xfc, 0x2a, 0xaa);
    word
};

fuzz_target!(|data: &[u8]| {
    let Ok(facts) = decode(data) else { return };
    assert!(data.starts_with(facts.selector.as_slice()));
    let arguments = &data[..data.len() - facts.trailing_bytes];
    let trailing = &data[arguments.len()..];
    assert!(trailing.is_empty() || facts.trim.is_some() || trailing.ends_with(&[0x80, 0x21]));
    if let Some(trim) = &facts.trim {
        assert!(trim.rate_per_mille <= 100 && flagged(trailing));
    }
    if let Ok(bare) = decode(arguments) {
        assert_eq!(
            bare,
            SwapFacts {
                trim: None,
                trailing_bytes: 0,
                ..facts
            }
        );
    }
    for bytes in [arguments, data] {
        assert!(decode(&[bytes, &COMMISSION].concat()).is_err());
    }
});

/// Whether the flag of a trim is present.
fn flagged(data: &[u8]) -> bool {
    data.windows(6).any(|bytes| {
        matches!(
            bytes,
            b"\x77\x77\x77\x77\x11\x11" | b"\x77\x77\x77\x77\x22\x22"
        )
    })
}
