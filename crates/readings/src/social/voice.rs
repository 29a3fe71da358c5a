//! Opinion leaders: who talks about a token. What they think of it is judged in
//! [`opinions`](super::opinions).

use jiff::Timestamp;

/// Most opinion leaders that are counted.
pub const MAX_VOICES: usize = 50;

/// Who talks about one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenVoices {
    /// The token's symbol: we asked by contract, so this is ours.
    pub symbol: String,
    /// The leaders, in the source's order.
    pub voices: Vec<Voice>,
}

/// An opinion leader, as a source tells of one for one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// The account's name on X, without `@`.
    pub handle: String,
    /// How many follow it.
    pub followers: Option<u64>,
    /// Reactions to what it posted about the token within the window.
    pub engagement: Option<u64>,
    /// Its posts about the token within the window.
    pub mentions: Option<u64>,
    /// When it first posted about the token, and where.
    pub first_post: Option<(Timestamp, String)>,
}
