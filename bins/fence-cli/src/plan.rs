//! `plan verify`.

use std::{
    fmt::Write as _,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use plan_builder::{
    FeeDocument, Policy, Refusal, Request, SimulationMode, Verified, rail_of_plan,
    verify as verify_plan,
};
use plan_checks::UtcSeconds;
use serde_json::json;

use crate::{
    cli::Verify,
    exit::{Exit, Outcome},
    printable::Printable,
    source::{self, SourceError},
};

/// Verifies a plan.
pub(crate) fn verify(arguments: &Verify) -> Outcome {
    let files = [&arguments.plan, &arguments.request, &arguments.fees];
    if files
        .into_iter()
        .filter(|path| source::is_stdin(path))
        .count()
        > 1
    {
        return Outcome {
            stdout: String::new(),
            stderr: "error: only one of --plan, --request and --fees can be standard input\n"
                .to_owned(),
            exit: Exit::Usage,
        };
    }
    match judge(arguments) {
        Ok(Ok(verified)) => accepted(&verified, arguments.json),
        Ok(Err(refusal)) => refused(&refusal, arguments.json),
        Err(error) => Outcome {
            stdout: String::new(),
            stderr: format!("error: {error}\n"),
            exit: Exit::File,
        },
    }
}

fn judge(arguments: &Verify) -> Result<Result<Verified, Refusal>, SourceError> {
    let plan = source::read(&arguments.plan)?;
    let request = source::read(&arguments.request)?;
    let mut policy = policy(&arguments.fees)?;
    policy.allow_unread_accounts = arguments.allow_unread_accounts;
    if arguments.require_simulation {
        policy.simulation = SimulationMode::Required;
    }
    let now = arguments.now.unwrap_or_else(clock);
    Ok(rail_of_plan(&plan)
        .and_then(|rail| Request::parse(rail, &request))
        .and_then(|request| verify_plan(&request, &plan, now, &policy)))
}

fn policy(path: &Path) -> Result<Policy, SourceError> {
    let text = source::read(path)?;
    let unusable = |line, why| SourceError::Fees {
        path: path.to_owned(),
        line,
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

/// The machine's time. Before 1970 every plan is over.
fn clock() -> UtcSeconds {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(UtcSeconds::from_unix(u64::MAX), |since| {
            UtcSeconds::from_unix(since.as_secs())
        })
}

fn accepted(verified: &Verified, as_json: bool) -> Outcome {
    let checks = verified.report.assertions();
    let open = verified.report.not_established();
    let stdout = if as_json {
        let names: Vec<_> = checks.iter().map(|check| check.name).collect();
        let not_established: Vec<_> = open.iter().map(|check| check.name).collect();
        let text = json!({"verified": {
            "rail": verified.rail.as_str(),
            "payload_digest": verified.payload_digest,
            "intent_digest": verified.intent_digest,
            "valid_until": verified.valid_until.to_string(),
            "checks": names,
            "not_established": not_established,
        }});
        format!("{text}\n")
    } else {
        let width = checks
            .iter()
            .chain(open)
            .map(|check| check.name.len())
            .max()
            .unwrap_or_default();
        let mut text = String::new();
        let open = open.iter().map(|check| ("open", check));
        for (result, check) in checks.iter().map(|check| ("pass", check)).chain(open) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{result}  {:width$}  {}",
                check.name,
                Printable(check.observed.as_str())
            );
        }
        let _ = writeln!(
            text,
            "\nverified: {} plan {}\nvalid until {}",
            verified.rail.as_str(),
            verified.payload_digest,
            verified.valid_until
        );
        text
    };
    Outcome {
        stdout,
        stderr: String::new(),
        exit: Exit::Ok,
    }
}

fn refused(refusal: &Refusal, as_json: bool) -> Outcome {
    if as_json {
        return Outcome {
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
    Outcome {
        stdout: String::new(),
        stderr,
        exit: Exit::Refused,
    }
}
