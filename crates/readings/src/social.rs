//! Social media: the tone of what is posted about tokens, and who posts.

mod digest;
mod mood;
mod voice;

pub use self::{
    digest::{Post, PostDigest, PostPoint, digest},
    mood::{Mood, MoodLabel, SymbolMood, TrendPoint},
    voice::{Leaders, MAX_VOICES, TokenVoices, TopVoice, Voice, leaders},
};
