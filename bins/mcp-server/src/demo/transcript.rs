//! Prints the five steps of the demo. Each claim is checked before it is printed.

use std::fmt::Display;
use std::io::{self, Write};

use alloy_primitives::U256;
use calldata_checks::UtcSeconds;
use dev_chain::base;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::execution::{self, Sent, Standing};
use super::forgery::{DIGEST, FORGERIES, RECEIVER, Verifier, refused_by, try_every_byte};
use super::plan::Plan;
use super::stage::{self, ACCOUNT, AMOUNT, Running, SLIPPAGE_BPS, Stage};
use super::units::{percent, usdc, weth};
use super::{Broken, DemoError};

pub(super) const TOOL: &str = "svc_prepare_swap";
const EVERY_BYTE: &str = "any single byte of the call, each in turn";

/// Shows every step and returns the plan.
pub(super) async fn show(
    stage: &Stage,
    server: &Running,
    out: &mut impl Write,
) -> Result<Plan, DemoError> {
    let mut page = Page(out);
    let chain = base::CHAIN_ID;
    page.line(format_args!(
        "\nA swap on an embedded chain (id {chain}). Quotes are recorded answers; nothing is signed."
    ))?;
    let plan = ask(server, &mut page).await?;
    let arguments = stage::arguments();
    let verifier = Verifier {
        request: &stage::request(&arguments)?,
        policy: &stage.policy,
        now: now(),
    };
    check(&plan, verifier, &mut page)?;
    tamper(&plan, verifier, &mut page)?;
    deceive(stage, &mut page).await?;
    execute(stage, &plan, &mut page).await?;
    page.0.flush()?;
    Ok(plan)
}

async fn ask(server: &Running, page: &mut Page<'_, impl Write>) -> Result<Plan, DemoError> {
    let plan = Plan::of_result(&call(server).await?)?;
    plan.judge(ACCOUNT)?;
    page.heading(1, format_args!("An agent asks for a plan: {TOOL}"))?;
    page.row("account", ACCOUNT)?;
    let (amount, slippage) = (usdc(U256::from(AMOUNT)), percent(SLIPPAGE_BPS));
    let wish = format!("to swap {amount} for WETH, at most {slippage} below the quote");
    page.row("wants", wish)?;
    let steps = plan.payload.steps.iter();
    page.rows(
        "gets",
        steps.map(|step| format!("{:14} {}", step.kind, step.words())),
    )?;
    let fees = plan.fee_attribution.recipients.iter();
    let fees = fees.map(|fee| {
        let (amount, share) = (usdc(fee.amount), percent(fee.bps));
        format!("{:14} {amount:>8}, {share}, to {}", fee.role, fee.address)
    });
    page.rows("fees", fees)?;
    let quote = &plan.payload.quote;
    let [least, most] = [quote.to_amount_min, quote.to_amount].map(weth);
    page.row(
        "output",
        format_args!("at least {least}, quoted {most} by {}", quote.source),
    )?;
    if let Some(simulation) = &plan.simulation {
        page.row("simulated", simulation.outcome.replace('_', " "))?;
    }
    page.row("valid until", &plan.valid_until)?;
    page.row("digest", plan.submission.payload_digest)?;
    let names = plan.assertions.iter().map(|assertion| assertion.name.len());
    let judged = plan.judgements.iter().map(|judged| judged.name.len());
    let width = names.chain(judged).max().unwrap_or_default();
    for assertion in &plan.assertions {
        let (name, observed) = (&assertion.name, &assertion.observed);
        page.line(format_args!("   [x] {name:width$}  {observed}"))?;
    }
    for judged in &plan.judgements {
        let (name, result, observed) = (&judged.name, &judged.result, &judged.observed);
        page.line(format_args!(
            "   [~] {name:width$}  {result}, as the server judged: {observed}"
        ))?;
    }
    Ok(plan)
}

fn check(
    plan: &Plan,
    verifier: Verifier<'_>,
    page: &mut Page<'_, impl Write>,
) -> Result<(), DemoError> {
    let verified = verifier.verify(&plan.text);
    let verified = verified.map_err(|refusal| Broken::new(2, "the plan", "verified", refusal))?;
    let (payload, intent) = (verified.payload_digest(), verified.intent_digest());
    Broken::unless_equal(2, "the digest", &plan.submission.payload_digest, &payload)?;
    Broken::unless_equal(2, "the request's digest", &plan.intent_digest, &intent)?;
    let names = plan
        .assertions
        .iter()
        .map(|assertion| assertion.name.as_str());
    let again = verified
        .plan_report()
        .assertions()
        .iter()
        .map(|assertion| assertion.name);
    let [names, again] = [names.collect::<Vec<_>>(), again.collect()];
    Broken::unless_equal(2, "the checks", &names.join(", "), &again.join(", "))?;
    page.heading(2, "The agent verifies it offline, from its own bytes")?;
    page.row(
        "checks",
        format_args!("all {} hold on the plan's own bytes", again.len()),
    )?;
    page.row("digest", "computed again, the same")?;
    page.row("request", format_args!("the one that was asked, {intent}"))?;
    Ok(())
}

fn tamper(
    plan: &Plan,
    verifier: Verifier<'_>,
    page: &mut Page<'_, impl Write>,
) -> Result<(), DemoError> {
    let (mut kept, mut resealed) = (Vec::new(), Vec::new());
    for forgery in FORGERIES {
        let (what, check) = (forgery.what, forgery.check);
        let form = || Broken::new(3, what, "a plan that can be changed so", "another");
        let forged = forgery.of(&plan.text).ok_or_else(form)?;
        refused_by(3, what, check, verifier.verify(&forged))?;
        let rows = if forgery.resealed {
            &mut resealed
        } else {
            &mut kept
        };
        rows.push((what, check));
    }
    try_every_byte(plan, |changed| verifier.verify(changed))?;
    kept.push((EVERY_BYTE, DIGEST));
    let one_more = stage::arguments_for(AMOUNT.saturating_add(1));
    let other = Verifier {
        request: &stage::request(&one_more)?,
        ..verifier
    };
    let late = Verifier {
        now: verifier.now.saturating_add(3600),
        ..verifier
    };
    let mut same = Vec::new();
    for (what, check, verifier) in [
        (
            "taken for the answer to another request",
            "agg_token_amount_bound",
            other,
        ),
        ("used an hour later", "artifact_expiry_committed", late),
    ] {
        refused_by(3, what, check, verifier.verify(&plan.text))?;
        same.push((what, check));
    }

    page.heading(
        3,
        "An attacker changes the plan; every attempt is refused by name",
    )?;
    let groups = [
        ("changed, with its digest as it was", kept),
        ("changed, with a digest computed to fit", resealed),
        ("not changed at all", same),
    ];
    for (group, rows) in groups {
        page.line(format_args!("   {group}"))?;
        for (what, check) in rows {
            page.line(format_args!("     {what:43} {check}"))?;
        }
    }
    Ok(())
}

async fn deceive(stage: &Stage, page: &mut Page<'_, impl Write>) -> Result<(), DemoError> {
    let (server, liar) = stage.serve_deceived().await?;
    let result = call(&server).await;
    server.stop().await;
    drop(liar);
    let refused = judge_refusal(&result?)?;
    page.heading(
        4,
        "The aggregator lies: its calldata pays another account than its quote says",
    )?;
    for (label, name) in [
        ("refused", "check"),
        ("why", "message"),
        ("expected", "expected"),
        ("observed", "observed"),
    ] {
        if let Some(text) = refused.get(name).and_then(Value::as_str) {
            page.row(label, text)?;
        }
    }
    page.row("plan", "none")?;
    Ok(())
}

async fn execute(
    stage: &Stage,
    plan: &Plan,
    page: &mut Page<'_, impl Write>,
) -> Result<(), DemoError> {
    let before = Standing::read(&stage.chain, plan)?;
    let sent = execution::run(&stage.node(), &stage.chain, plan).await?;
    let after = Standing::read(&stage.chain, plan)?;
    execution::judge(plan, &before, &after, &sent)?;
    page.heading(
        5,
        "The verified plan is executed, each step in a block before the next is sent",
    )?;
    let allowance = |amount: U256| format!("the router may take {}", usdc(amount));
    page.row(
        "before",
        format_args!("{}, left over", allowance(before.allowance)),
    )?;
    let steps = sent.iter().map(|sent| {
        let Sent {
            kind,
            block,
            gas_used,
            ..
        } = sent;
        format!(
            "{kind:14} block {block}, gas {gas_used:>6}, {}",
            allowance(sent.allowance)
        )
    });
    page.rows("steps", steps)?;
    let balances = [
        format!("{} -> {}", usdc(before.usdc), usdc(after.usdc)),
        format!("{} -> {}", weth(before.weth), weth(after.weth)),
    ];
    page.rows("account", balances.into_iter())?;
    let fees = plan.fee_attribution.recipients.iter();
    let fees = fees.map(|fee| format!("{:14} was paid exactly {}", fee.role, usdc(fee.amount)));
    page.rows("fees", fees)?;
    page.row("router", "keeps nothing")?;
    page.row(
        "simulation",
        "had said the same: the balances, and the gas of every step",
    )?;
    Ok(())
}

/// The output.
struct Page<'a, W>(&'a mut W);

impl<W: Write> Page<'_, W> {
    fn line(&mut self, text: impl Display) -> io::Result<()> {
        writeln!(self.0, "{text}")
    }

    fn heading(&mut self, number: u8, text: impl Display) -> io::Result<()> {
        writeln!(self.0, "\n{number}. {text}")
    }

    fn row(&mut self, label: &str, text: impl Display) -> io::Result<()> {
        writeln!(self.0, "   {label:12} {text}")
    }

    /// Writes rows; only the first has the label.
    fn rows(&mut self, label: &str, texts: impl Iterator<Item = String>) -> io::Result<()> {
        for (index, text) in texts.enumerate() {
            self.row(if index == 0 { label } else { "" }, text)?;
        }
        Ok(())
    }
}

/// Calls the constructor as an agent does.
async fn call(server: &Running) -> Result<Value, DemoError> {
    let params = json!({"name": TOOL, "arguments": stage::arguments()});
    Ok(server.tools().call("tools/call", params).await?)
}

/// The members of the refusal of a lying quote. Checks that no plan comes with it.
fn judge_refusal(result: &Value) -> Result<Value, Broken> {
    let broken = |expected: &str| Broken::new(4, "a lying quote", expected, result);
    let refused = result.pointer("/structuredContent/refused");
    let refused = refused.ok_or_else(|| broken("a refusal"))?;
    if refused.get("check") != Some(&json!(RECEIVER)) {
        return Err(broken("the check of the receiver"));
    }
    let alone = result.get("isError") == Some(&Value::Bool(true))
        && result.get("structuredContent") == Some(&json!({"refused": refused}))
        && !result.to_string().contains("steps");
    if alone {
        Ok(refused.clone())
    } else {
        Err(broken("a refusal and no plan"))
    }
}

fn now() -> UtcSeconds {
    UtcSeconds::from_timestamp(Timestamp::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_stands_alone() {
        let result = |error: bool, content: Value| {
            json!({
                "isError": error,
                "content": [{"type": "text", "text": content.to_string()}],
                "structuredContent": content,
            })
        };
        let refused = json!({"refused": {"check": RECEIVER, "message": "no"}});
        assert_eq!(
            judge_refusal(&result(true, refused.clone())),
            Ok(refused["refused"].clone())
        );
        for (error, content) in [
            (false, refused.clone()),
            (
                true,
                json!({"refused": {"check": "quote_malformed", "message": "no"}}),
            ),
            (true, json!({"refused": refused["refused"], "payload": {}})),
            (
                true,
                json!({"refused": {"check": RECEIVER, "message": "", "steps": []}}),
            ),
            (false, json!({"payload": {"steps": []}})),
        ] {
            let broken = judge_refusal(&result(error, content)).unwrap_err();
            assert_eq!((broken.step, broken.what), (4, "a lying quote"));
        }
    }
}
