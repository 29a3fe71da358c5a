//! Opinion leaders: the accounts that post about a token. [`opinions`](super::opinions) judges what
//! they say.

use jiff::Timestamp;

/// The most opinion leaders that count.
pub const MAX_VOICES: usize = 50;

/// The accounts that post about one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenVoices {
    /// The token's symbol. The source was asked by contract, so this symbol is ours.
    pub symbol: String,
    /// The leaders, in the source's order.
    pub voices: Vec<Voice>,
}

/// An opinion leader, as a source describes it for one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// The account's name on X, without `@`.
    pub handle: String,
    /// The number of its followers.
    pub followers: Option<u64>,
    /// How many reactions its posts about the token got within the window.
    pub engagement: Option<u64>,
    /// How many posts it made about the token within the window.
    pub mentions: Option<u64>,
    /// The time and the address of its first post about the token.
    pub first_post: Option<(Timestamp, String)>,
}
