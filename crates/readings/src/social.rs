//! Social media: what posts say about tokens, in which tone, and who wrote them.

mod digest;
mod mood;
mod opinion;
mod post;
mod voice;

pub use self::{
    digest::{Change, PostDigest, Stance, Statement, Topic, digest},
    mood::{Mood, MoodLabel, SymbolMood, TrendPoint},
    opinion::{Coverage, LEAST_LEADERS, Leader, Opinion, Opinions, TokenOpinion, opinions},
    post::{Claim, ClaimKind, Content, Post, Posts},
    voice::{MAX_VOICES, TokenVoices, Voice},
};
