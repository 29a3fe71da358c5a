//! The choice of exports.

/// The forms in which steps are given beside the plan's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportSet {
    /// `wallet_sendCalls` (EIP-5792).
    pub eip5792: bool,
    /// A batch for the Safe Transaction Builder.
    pub safe_tx_builder: bool,
}

impl ExportSet {
    pub(crate) const WORDS: &'static [&'static str] = &["eip5792", "safe_tx_builder"];

    /// From the words of the argument `exports`.
    pub(crate) fn from_words(words: &[&str]) -> Self {
        Self {
            eip5792: words.contains(&"eip5792"),
            safe_tx_builder: words.contains(&"safe_tx_builder"),
        }
    }

    /// The words, in order.
    pub(crate) fn words(self) -> Vec<&'static str> {
        [
            (self.eip5792, "eip5792"),
            (self.safe_tx_builder, "safe_tx_builder"),
        ]
        .into_iter()
        .filter_map(|(chosen, word)| chosen.then_some(word))
        .collect()
    }
}
