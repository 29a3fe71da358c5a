//! News and social media. Models are only asked for their list: any other question costs money.

use super::{probed, questions, tokens::symbol};
use crate::{
    Source,
    alternative_me::AlternativeMe,
    anthropic::Anthropic,
    coindesk::Coindesk,
    cryptopanic::Cryptopanic,
    fal::Fal,
    gemini::Gemini,
    lunarcrush::Lunarcrush,
    openai::Openai,
    perplexity::Perplexity,
    probe::{Probed, Question},
    rss::Rss,
    x_api::XApi,
};

probed!(AlternativeMe, |this| questions! { "alternative_me";
    ["alternative-me.fear-greed"] => this.fear_greed(),
});

probed!(Coindesk, |this| questions! { "coindesk";
    ["coindesk.news"] => this.news(),
});

probed!(Cryptopanic, |this| questions! { "cryptopanic";
    ["cryptopanic.posts"] => this.news(),
});

probed!(Lunarcrush, |this| questions! { "lunarcrush";
    ["lunarcrush.coins"] => async move { this.mentions_of(&symbol()?).await },
});

probed!(XApi, |this| questions! { "x_api";
    ["x.list"] => this.newest(),
});

impl Probed for Rss {
    fn source(&self) -> Option<&Source> {
        Some(Self::source(self))
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let feed = |(place, source): (usize, &Source)| {
            Question::new("rss", source.spec().sources, self.articles(place))
        };
        self.feeds().iter().enumerate().map(feed).collect()
    }
}

probed!(Anthropic, |this| questions! { "anthropic";
    ["anthropic.models"] => this.models(),
});

probed!(Gemini, |this| questions! { "gemini";
    ["gemini.models"] => this.models(),
});

probed!(Openai, |this| questions! { "openai";
    ["openai.models"] => this.models(),
});

// These two have no documented list of models.
probed!(Fal, |_this| Vec::new());
probed!(Perplexity, |_this| Vec::new());
