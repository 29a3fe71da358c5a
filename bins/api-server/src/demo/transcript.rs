//! The five steps of the paid call in the demo. Each is checked before it is printed.

use std::io::Write;

use alloy_primitives::{Address, U256};
use dev_chain::{DevChain, PAYEE, USDT0};
use serde_json::Value;
use x402_wire::{PaymentId, Scheme};

use super::DemoError;
use super::buyer::{Buyer, BuyerAnswer, BuyerError};

const TOKEN: &str = "0xe538905cf8410324e03A5A23C1c177a474D59b2b";
const UNKNOWN_TOKEN: &str = "0x000000000000000000000000000000000000dEaD";

pub(super) async fn show(
    buyer: &Buyer,
    chain: &DevChain,
    out: &mut impl Write,
) -> Result<(), DemoError> {
    let account = buyer.account();
    let balance = || balance(chain, account.address);
    let payee_before = self::balance(chain, PAYEE.address)?;
    let start = balance()?;
    writeln!(
        out,
        "\nA paid call on an embedded chain (id 196). Upstream answers are recordings.\n"
    )?;
    writeln!(out, "1. The buyer")?;
    writeln!(out, "   address      {}", account.address)?;
    writeln!(out, "   private key  {}  (public test key)", account.key)?;
    writeln!(out, "   balance      {} USD₮0", dollars(start))?;

    let target = format!("/price?token={TOKEN}");
    let unpaid = buyer.get(&target, None).await?;
    let challenge = match (unpaid.status, unpaid.challenge) {
        (402, Some(challenge)) => challenge,
        (status, _) => return Err(step(2, "402 with a challenge", status)),
    };
    writeln!(
        out,
        "\n2. Without payment: GET {target}\n   402, {} options:",
        challenge.accepts.len()
    )?;
    for option in challenge.options() {
        writeln!(
            out,
            "   {:13} {} {} ({} {})",
            option.scheme.as_str(),
            option.network,
            option.amount,
            option.extra.name,
            option.asset
        )?;
    }
    if challenge.accepts.len() != 6 {
        return Err(step(2, "six options", challenge.accepts.len()));
    }

    let payment = buyer.sign(&challenge, 300)?;
    let paid = buyer.get(&target, Some(&payment)).await?;
    let receipt = settled(3, &paid)?;
    let price = challenge
        .options()
        .find(|o| o.scheme == Scheme::Exact)
        .map(|o| o.amount);
    let after = balance()?;
    if start.checked_sub(after) != price
        || self::balance(chain, PAYEE.address)?.checked_sub(payee_before) != price
    {
        return Err(step(
            3,
            "exactly the price moved from buyer to payee",
            start.saturating_sub(after),
        ));
    }
    writeln!(
        out,
        "\n3. The same call with PAYMENT-SIGNATURE\n   200 {}",
        member(&paid, "/data")
    )?;
    writeln!(
        out,
        "   source       {} ({})",
        text(&paid, "id"),
        text(&paid, "mode")
    )?;
    writeln!(out, "   transaction  {receipt}")?;
    writeln!(
        out,
        "   balance      {} -> {} USD₮0",
        dollars(start),
        dollars(after)
    )?;

    let again = buyer.get(&target, Some(&payment)).await?;
    let second_receipt = settled(4, &again)?;
    if again.text != paid.text || second_receipt != receipt || balance()? != after {
        return Err(step(
            4,
            "the same answer and receipt, and no second charge",
            again.text,
        ));
    }
    writeln!(
        out,
        "\n4. The same payment again\n   200 with the same answer and the same transaction"
    )?;
    writeln!(
        out,
        "   balance      {} USD₮0: nothing was charged twice",
        dollars(balance()?)
    )?;

    let target = format!("/price?token={UNKNOWN_TOKEN}");
    let unpaid = buyer.get(&target, None).await?;
    let challenge = unpaid
        .challenge
        .ok_or_else(|| step(5, "402 with a challenge", unpaid.status))?;
    let refused = buyer
        .get(&target, Some(&buyer.sign(&challenge, 300)?))
        .await?;
    let uncharged = *member(&refused, "/error/charged") == false && balance()? == after;
    if refused.status != 404 || !uncharged {
        return Err(step(5, "404 without charge", refused.text));
    }
    writeln!(
        out,
        "\n5. A paid call that cannot be answered: GET {target}"
    )?;
    writeln!(out, "   {} {}", refused.status, member(&refused, "/error"))?;
    writeln!(
        out,
        "   balance      {} USD₮0: nothing was charged",
        dollars(balance()?)
    )?;
    lost_answer(buyer, &balance, out).await?;
    Ok(out.flush()?)
}

/// Shows that a second signature for a lost answer is not a second charge.
async fn lost_answer(
    buyer: &Buyer,
    balance: &impl Fn() -> Result<U256, DemoError>,
    out: &mut impl Write,
) -> Result<(), DemoError> {
    let target = format!("/price?token={TOKEN}");
    let unpaid = buyer.get(&target, None).await?;
    let challenge = unpaid
        .challenge
        .ok_or_else(|| step(5, "402 with a challenge", unpaid.status))?;
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| BuyerError::Sign)?;
    let id = PaymentId::from_random(random);
    let before = balance()?;
    let sign = || buyer.sign_named(&challenge, 300, Some(&id));
    buyer.lose(&target, &sign()?).await?;
    let answer = buyer.get(&target, Some(&sign()?)).await?;
    let receipt = settled(5, &answer)?;
    let price = challenge
        .options()
        .find(|option| option.scheme == Scheme::Exact)
        .map(|option| option.amount);
    let after = balance()?;
    if before.checked_sub(after) != price {
        return Err(step(5, "one charge for two signatures", after));
    }
    writeln!(
        out,
        "\nA lost answer: the buyer hangs up, and signs another payment with the same identifier"
    )?;
    writeln!(out, "   200 with the answer that the first payment bought")?;
    writeln!(out, "   transaction  {receipt}")?;
    writeln!(
        out,
        "   balance      {} -> {} USD₮0: charged once",
        dollars(before),
        dollars(after)
    )?;
    Ok(())
}

/// Prints the next steps for a newcomer. The printed lines work as they are.
pub(super) async fn invite(buyer: &Buyer, out: &mut impl Write) -> Result<(), DemoError> {
    let target = "/all-tokens?limit=3";
    let unpaid = buyer.get(target, None).await?;
    let challenge = unpaid
        .challenge
        .ok_or_else(|| step(6, "402 with a challenge", unpaid.status))?;
    let payment = buyer.sign(&challenge, 3600)?;
    let url = buyer.url(target);
    writeln!(out, "\nThe server stays up. Try it (Ctrl-C ends it):\n")?;
    writeln!(out, "# what it costs and how to pay")?;
    writeln!(out, "curl -i '{url}'\n")?;
    writeln!(
        out,
        "# pay for it: signed by the buyer above, unused, good for one hour; run it twice"
    )?;
    writeln!(out, "curl -i -H 'PAYMENT-SIGNATURE: {payment}' '{url}'\n")?;
    writeln!(out, "# everything that is sold, and the page for people")?;
    writeln!(out, "curl '{}'", buyer.url("/llms.txt"))?;
    writeln!(out, "{}", buyer.url("/"))?;
    Ok(out.flush()?)
}

pub(super) fn settled(number: u8, answer: &BuyerAnswer) -> Result<String, DemoError> {
    match &answer.receipt {
        Some(receipt) if answer.status == 200 && receipt.success => Ok(receipt.transaction.clone()),
        _ => Err(step(number, "200 with a receipt", &answer.text)),
    }
}

pub(super) fn member<'a>(answer: &'a BuyerAnswer, pointer: &str) -> &'a Value {
    answer.body.pointer(pointer).unwrap_or(&Value::Null)
}

fn text<'a>(answer: &'a BuyerAnswer, name: &str) -> &'a str {
    member(answer, &format!("/meta/sources/0/{name}"))
        .as_str()
        .unwrap_or("?")
}

fn balance(chain: &DevChain, account: Address) -> Result<U256, DemoError> {
    Ok(chain.balance_of(USDT0, account)?)
}

/// Renders atoms of a six-decimal token as dollars.
pub(super) fn dollars(atoms: U256) -> String {
    let (whole, fraction) = (atoms / U256::from(1_000_000), atoms % U256::from(1_000_000));
    format!("{whole}.{fraction:06}")
}

/// Renders atoms of an 18-decimal token, to six places.
pub(super) fn ether(atoms: U256) -> String {
    dollars(atoms / U256::from(1_000_000_000_000_u64))
}

pub(super) fn step(step: u8, expected: &'static str, observed: impl ToString) -> DemoError {
    DemoError::Step {
        step,
        expected,
        observed: observed.to_string(),
    }
}
