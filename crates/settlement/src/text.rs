//! Cuts texts of other parties to what may be passed on.

/// The longest message of a facilitator that is passed on, in characters.
const MAX_MESSAGE: usize = 300;

/// Returns the first 80 characters of visible ASCII and spaces. It is for members that identify
/// something and go into headers and logs.
pub(crate) fn clip(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_ascii_graphic() || *c == ' ')
        .take(80)
        .collect()
}

pub(crate) fn clip_message(text: impl AsRef<str>) -> String {
    exact::shortened(text.as_ref(), MAX_MESSAGE)
}
