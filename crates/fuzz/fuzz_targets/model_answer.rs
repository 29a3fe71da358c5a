//! Reads answers of models. An accepted image has the size in its header, within the bounds; a text
//! without unsafe parts stays unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use readings::ai::{Image, public_url, sanitise};

fuzz_target!(|data: &[u8]| {
    if let Ok(image) = Image::read(data.to_vec()) {
        assert!(image.width() > 0 && image.height() > 0);
        assert_eq!(image.into_bytes(), data);
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let safe = sanitise(text);
    let hidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(!safe.text.contains(hidden) && !safe.text.contains("<script"));
    let length = safe.text.chars().count();
    for (start, end) in [(0, 1), (0, text.chars().count())] {
        if let Some((from, to)) = safe.span(start, end) {
            assert!(from < to && to <= length);
        }
    }
    if let Some(url) = public_url(text) {
        assert!(url.starts_with("https://") || url.starts_with("http://"));
        // The normal form may exceed the length limit of an address.
        assert!(public_url(&url).is_none_or(|again| again == url));
    }
});
