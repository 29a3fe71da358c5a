//! Social media: the tone of what is posted about tokens, who posts, and what they say.

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
