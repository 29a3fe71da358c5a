//! `plan verify`: judges a plan by its own bytes, the request and the reviewed fees, as the agent
//! rail did when it built the plan. It reads no chain and no price.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use calldata_checks::{UtcSeconds, bridge, swap};
use clap::Args;
use plan_builder::{
    FeeDocument, JudgementResult, Policy, Refusal, Request, SimulationMode, Verified, rail_of_plan,
    verify as verify_plan,
};
use serde_json::{Value, json};

use super::{Emit, Words, emit, json_of, lines, parse, plan_of};
use crate::{
    CommandOutcome, Exit, Failure, Printable, Refused, now,
    source::{self, SourceError},
};

/// `plan verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// The plan: the envelope, or the rail's whole answer (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    /// The request: the `arguments` that were sent to the tool (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub request: PathBuf,
    /// The reviewed fee configuration (TOML): the operator's published one, or your own; not what
    /// the judged server gives you
    #[arg(long, value_name = "FILE")]
    pub fees: PathBuf,
    /// Accept a bridge plan for an `eoa` whose code nobody read on the source chain
    #[arg(long)]
    pub allow_unread_accounts: bool,
    /// Refuse a plan with transactions that states no simulation, unless it states that its account
    /// lacks the input
    #[arg(long)]
    pub require_simulation: bool,
    /// Judge as if it were this time [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = UtcSeconds::parse_rfc3339)]
    pub now: Option<UtcSeconds>,
    /// Print nothing but the verified bytes, in this form; everything else goes to standard error
    #[arg(long, value_name = "FORM", conflicts_with = "json")]
    pub emit: Option<Emit>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The basis of the judgement beside the plan and the request.
struct Basis {
    now: UtcSeconds,
    from_clock: bool,
    fees: String,
}

/// Verifies a plan.
pub fn verify(arguments: &Verify) -> CommandOutcome {
    let files = [&arguments.plan, &arguments.request, &arguments.fees];
    if files
        .into_iter()
        .filter(|path| source::is_stdin(path))
        .count()
        > 1
    {
        return CommandOutcome::error(
            "only one of --plan, --request and --fees can be standard input",
            Exit::Usage,
        );
    }
    match judge(arguments) {
        Ok(Ok((plan, verified, basis))) => accepted(arguments, &plan, &verified, &basis),
        Ok(Err(refused)) => refused,
        Err(error) => CommandOutcome::error(error, Exit::File),
    }
}

type Judged = Result<(Value, Verified, Basis), CommandOutcome>;

fn judge(arguments: &Verify) -> Result<Judged, SourceError> {
    let text = source::read(&arguments.plan)?;
    let request = source::read(&arguments.request)?;
    let mut policy = policy(&arguments.fees)?;
    policy.allow_unread_accounts = arguments.allow_unread_accounts;
    if arguments.require_simulation {
        policy.simulation = SimulationMode::Required;
    }
    let basis = Basis {
        now: arguments.now.unwrap_or_else(now::clock),
        from_clock: arguments.now.is_none(),
        fees: policy.fees.version.clone(),
    };
    let by_name = |refused: Refused| CommandOutcome::refused(&refused, arguments.json);
    let by_check = |refusal: Refusal| refused(&refusal, arguments.json);
    Ok((|| {
        let plan = plan_of(&text).map_err(by_name)?;
        let verified = rail_of_plan(&plan)
            .and_then(|rail| Request::parse(rail, &request))
            .and_then(|request| verify_plan(&request, &plan, basis.now, &policy))
            .map_err(by_check)?;
        Ok((parse(&plan).map_err(by_name)?, verified, basis))
    })())
}

/// A verified plan with its request, and the version of the fees in the verification, for a
/// signature over it.
///
/// # Errors
/// The failed check, by name; a file that cannot be used.
pub(crate) fn verified(
    plan: &Path,
    request: &Path,
    fees: &Path,
    now: UtcSeconds,
) -> Result<(Request, Verified, String), Failure> {
    let (text, request) = (source::read(plan)?, source::read(request)?);
    let policy = policy(fees)?;
    let by_check = |refusal: Refusal| {
        let message = refusal.problems.first().map(ToString::to_string);
        Failure::from(Refused {
            expected: refusal.expected,
            observed: refusal.observed,
            ..Refused::new(refusal.check, message.unwrap_or(refusal.message))
        })
    };
    let plan = plan_of(&text)?;
    let rail = rail_of_plan(&plan).map_err(by_check)?;
    let request = Request::parse(rail, &request).map_err(by_check)?;
    let verified = verify_plan(&request, &plan, now, &policy).map_err(by_check)?;
    Ok((request, verified, policy.fees.version.clone()))
}

/// Reads the reviewed fees of a fee configuration.
///
/// # Errors
/// A file that cannot be read or used.
pub(crate) fn policy(path: &Path) -> Result<Policy, SourceError> {
    let text = source::read(path)?;
    let unusable = |line, why: String| SourceError::NotThat {
        path: path.to_owned(),
        line,
        what: "fee configuration",
        why,
    };
    let document: FeeDocument = toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map(|before| before.bytes().filter(|byte| *byte == b'\n').count() + 1);
        unusable(line, error.message().to_owned())
    })?;
    let fees = document
        .review()
        .map_err(|error| unusable(None, error.to_string()))?;
    Ok(Policy::new(fees))
}

fn accepted(
    arguments: &Verify,
    plan: &Value,
    verified: &Verified,
    basis: &Basis,
) -> CommandOutcome {
    let words = Words::of(plan);
    if let Some(form) = arguments.emit {
        return match emit::emit(plan, form) {
            Ok(bytes) => CommandOutcome::ok(bytes).with_note(&describe(&words, verified, basis)),
            Err(refused) => CommandOutcome::refused(&refused, false),
        };
    }
    if !arguments.json {
        return CommandOutcome::ok(describe(&words, verified, basis));
    }
    let checks = verified.report().assertions();
    let names: Vec<_> = checks.iter().map(|check| check.name).collect();
    let open = verified.report().not_established();
    let not_established: Vec<_> = open.iter().map(|check| check.name).collect();
    let stated = verified.judgements().iter().map(|judged| {
        json!({"name": judged.name(), "result": judged.result(), "observed": judged.observed()})
    });
    let judgements: Vec<_> = stated.collect();
    let answer = json!({"verified": {
        "rail": verified.rail().as_str(),
        "payload_digest": verified.payload_digest(),
        "intent_digest": verified.intent_digest(),
        "valid_until": verified.valid_until().to_string(),
        "judged_as_of": basis.now.to_string(),
        "fee_version": basis.fees,
        "plan": json_of(&words),
        "checks": names,
        "not_established": not_established,
        "judgements": judgements,
        "notes": notes(verified),
    }});
    CommandOutcome::json(&answer, Exit::Ok)
}

/// Sentences about the limits of this verification, for its reader.
fn notes(verified: &Verified) -> Vec<&'static str> {
    let open = verified.report().not_established();
    let is_open = |name| open.iter().any(|check| check.name == name);
    let mut notes = Vec::new();
    if is_open(swap::checks::MIN_OUT) {
        notes.push(NO_LEAST_OUTPUT);
    }
    if is_open(bridge::checks::CONTROL) {
        notes.push(ACCOUNT_NOT_READ);
    }
    notes
}

const NO_LEAST_OUTPUT: &str = "a verified plan is the requested plan, not a good price: \
    set minAmountOut in the request if you want a least output";
const ACCOUNT_NOT_READ: &str = "only the plan states who holds the address on the other chain: \
    read the account yourself before you sign";

/// The checks, the plan's own statements, the transaction, and the basis of the judgement; the word
/// *verified* comes last.
fn describe(words: &Words, verified: &Verified, basis: &Basis) -> String {
    let passed = verified.report().assertions().iter();
    let open = verified.report().not_established().iter();
    let checks = passed.map(|check| ("pass", check));
    let checks = checks.chain(open.map(|check| ("open", check)));
    let checks =
        checks.map(|(result, check)| (result, check.name, check.observed.as_str().to_owned()));
    let stated = verified.judgements().iter().map(|judged| {
        let result = match judged.result() {
            JudgementResult::Holds => "holds",
            JudgementResult::Unknown => "unknown",
        };
        let observed = format!(
            "{result}, as the plan says of itself: {}",
            judged.observed()
        );
        ("said", judged.name(), observed)
    });
    let rows: Vec<_> = checks.chain(stated).collect();
    let width = rows.iter().map(|(_, name, _)| name.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (result, name, observed) in rows {
        let _ = writeln!(text, "{result}  {name:width$}  {}", Printable(&observed));
    }
    let described = lines(words);
    let _ = writeln!(text, "\n{described}");
    for note in notes(verified) {
        let _ = writeln!(text, "note: {note}");
    }
    let clock = if basis.from_clock {
        "this machine's clock"
    } else {
        "the time of --now"
    };
    let _ = writeln!(
        text,
        "judged as of {} ({clock}), by fee version {}\nverified: {} plan {}\nvalid until {}",
        basis.now,
        Printable(&basis.fees),
        verified.rail().as_str(),
        verified.payload_digest(),
        verified.valid_until()
    );
    text
}

fn refused(refusal: &Refusal, as_json: bool) -> CommandOutcome {
    if as_json {
        return CommandOutcome {
            stdout: format!("{}\n", refusal.to_json()),
            stderr: String::new(),
            exit: Exit::Refused,
        };
    }
    let mut stderr = format!("refused: {}", Printable(&refusal.check));
    // Writing to a string cannot fail.
    if refusal.problems.is_empty() {
        let _ = writeln!(stderr, ": {}", Printable(&refusal.message));
        for (label, text) in [
            ("argument", &refusal.request_path),
            ("expected", &refusal.expected),
            ("observed", &refusal.observed),
        ] {
            if let Some(text) = text {
                let _ = writeln!(stderr, "  {label}: {}", Printable(text));
            }
        }
    } else {
        stderr.push('\n');
        for problem in &refusal.problems {
            let _ = writeln!(stderr, "  {}", Printable(&problem.to_string()));
        }
    }
    CommandOutcome {
        stdout: String::new(),
        stderr,
        exit: Exit::Refused,
    }
}
