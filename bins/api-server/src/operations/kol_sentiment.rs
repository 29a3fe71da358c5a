//! `GET /kol-sentiment`: the opinions of opinion leaders, read from their own posts.

use data_sources::news::Leading;
use readings::social::{LEAST_LEADERS, TokenVoices, opinions};

use super::fault;
use crate::answer::{Answered, Method, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::News;

/// For how many seconds the posts count as fresh. They are read every half hour.
const FRESH_SECONDS: u64 = 1800;
/// The source of posts.
const POSTS: &str = "x.list";

pub(super) async fn answer(
    context: &Context,
    news: &News,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let desk = &news.desk;
    let (posts, leading) = tokio::join!(desk.posts(call.max_age()), desk.leaders(call.max_age()));
    let mut report = SourceReport::default();
    // The leaders' opinions come from their posts alone. Other people's posts about the same tokens
    // do not show them.
    let posts = posts.map_err(|error| fault::core_missing("posts", error.reason()))?;
    let posts = report.accept(posts);
    let (talking, mut warnings) = match leading {
        Ok(leading) => {
            let (talking, warning) = tokens(context, leading, &mut report);
            (talking, warning.into_iter().collect())
        }
        Err(error) => {
            report.failed(context, &error);
            (Vec::new(), vec![unknown_leaders()])
        }
    };
    let opinions_of = opinions(&posts, &talking, context.now()).ok_or_else(|| {
        let reason = "too_few_leaders_with_an_opinion";
        fault::core_missing("leaders", reason).detail("least", LEAST_LEADERS)
    })?;
    if !opinions_of.coverage.complete {
        warnings.push(incomplete());
    }
    let mut answered = Answered::new(opinions_of, FRESH_SECONDS)
        .with_report(report)
        .origin("leaders", POSTS, Method::Derived)
        .origin("by_token", POSTS, Method::Derived)
        .origin("overall", POSTS, Method::Derived);
    answered.warnings = warnings;
    Ok(answered)
}

fn unknown_leaders() -> Warning {
    Warning {
        code: "leaders_of_the_list_alone",
        message: "other opinion leaders could not be read: the answer covers the accounts of the list alone".to_owned(),
    }
}

/// The warning for a window whose posts were not all read.
pub(super) fn incomplete() -> Warning {
    Warning {
        code: "posts_incomplete",
        message: "not all posts of the window were read: the earlier ones are missing".to_owned(),
    }
}

/// The tokens whose leaders could be read. The other tokens are listed as unavailable.
pub(super) fn tokens(
    context: &Context,
    leading: Leading,
    report: &mut SourceReport,
) -> (Vec<TokenVoices>, Option<Warning>) {
    let tokens = report.accept(leading.tokens);
    let mut names = Vec::new();
    for (symbol, error) in &leading.failed {
        report.failed(context, error);
        names.push(*symbol);
    }
    let warning = (!names.is_empty()).then(|| Warning {
        code: "tokens_missing",
        message: format!(
            "The opinion leaders of {} could not be read: no count includes them.",
            names.join(", ")
        ),
    });
    (tokens, warning)
}
