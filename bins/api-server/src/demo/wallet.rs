//! The wallet's steps of the demo: it is funded, swaps, invests and is emptied. Each step is
//! checked before it is printed.

mod stage;

use std::io::Write;

use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, hex};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use dev_chain::{BUYER, xlayer};
use serde_json::{Value, json};

pub(super) use self::stage::{WalletStage, WalletStageError};
use super::DemoError;
use super::buyer::{Buyer, BuyerAnswer, BuyerError};
use super::transcript::{dollars, member, settled, step};

/// The amount that the owner moves to the sub-wallet: 100 USDG.
const PRINCIPAL: &str = "100";

/// Shows the life of a sub-wallet: it is funded, swaps, invests and is emptied.
pub(super) async fn show(stage: &WalletStage, out: &mut impl Write) -> Result<(), DemoError> {
    let round = Round::begin(stage).await?;
    writeln!(
        out,
        "\nA sub-wallet that acts, on an embedded chain (id {}) with a market, a vault and an exchange.",
        xlayer::CHAIN_ID
    )?;
    round.invested(out).await?;
    round.divested(out).await?;
    round.swapped(out).await?;
    round.withdrawn(out).await
}

/// Prints what `docs/owner.mjs` needs: the address of the server, the owner's key, and the
/// operator's part of an export.
pub(super) fn invite(stage: &WalletStage, out: &mut impl Write) -> Result<(), DemoError> {
    writeln!(
        out,
        "\n# the sub-wallets' own server, and the owner of step 11: docs/OWNERS.md"
    )?;
    writeln!(
        out,
        "export API_URL=http://{} OWNER_KEY={}",
        stage.address, BUYER.key
    )?;
    writeln!(out, "# its operator hands a wallet over")?;
    writeln!(
        out,
        "api-server wallets export --config {} --request export-request.json --out export.json",
        stage.operator.display()
    )?;
    Ok(out.flush()?)
}

struct Round<'a> {
    stage: &'a WalletStage,
    server: Buyer,
    wallet: Address,
}

impl<'a> Round<'a> {
    /// Pays for `GET /sub-wallet` as the owner.
    async fn begin(stage: &'a WalletStage) -> Result<Self, DemoError> {
        let server = Buyer::new(BUYER, stage.address)?;
        let unpaid = server.get("/sub-wallet", None).await?;
        let challenge = unpaid
            .challenge
            .ok_or_else(|| step(11, "402 with a challenge", unpaid.status))?;
        let payment = server.sign(&challenge, 300)?;
        let paid = server.get("/sub-wallet", Some(&payment)).await?;
        settled(11, &paid)?;
        let wallet = member(&paid, "/data/sub_wallet").as_str();
        let wallet = wallet
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| step(11, "a sub-wallet", &paid.text))?;
        Ok(Self {
            stage,
            server,
            wallet,
        })
    }

    /// Invests. The first answer, without funds, holds a message for the owner to sign. With that
    /// signature, the principal moves from the owner to its wallet.
    async fn invested(&self, out: &mut impl Write) -> Result<(), DemoError> {
        let mut body = json!({
            "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": PRINCIPAL,
        });
        let refused = self.act("/auto-defi-invest", &body).await?;
        let asked = member(&refused, "/error/principal_auth").clone();
        if refused.status != 409 || asked.is_null() {
            return Err(step(11, "409 with principal_auth", refused.text));
        }
        writeln!(out, "\n11. POST /auto-defi-invest without funds")?;
        writeln!(out, "   409          funds_required, nothing was charged")?;
        writeln!(out, "   sub-wallet   {}", self.wallet)?;
        writeln!(
            out,
            "   missing      {} USDG",
            text(&refused, "/error/amount")
        )?;
        if let Some(members) = body.as_object_mut() {
            members.insert("principal_auth".to_owned(), authorized(&asked)?);
        }
        let done = self.completed(12, "/auto-defi-invest", &body).await?;
        writeln!(
            out,
            "\n12. The same with principal_auth (EIP-3009), signed by the owner"
        )?;
        self.shown(&done, out)?;
        let shares = self.holds(xlayer::A_USDG)?;
        writeln!(out, "   position     {} aUSDG", dollars(shares))?;
        Ok(())
    }

    async fn divested(&self, out: &mut impl Write) -> Result<(), DemoError> {
        let body = json!({ "product_id": "aave-v3-xlayer-usdg", "ratio": "1" });
        let done = self.completed(13, "/auto-defi-withdraw", &body).await?;
        let left = self.holds(xlayer::A_USDG)?;
        if !left.is_zero() {
            return Err(step(13, "a closed position", left));
        }
        writeln!(out, "\n13. POST /auto-defi-withdraw, all of it")?;
        self.shown(&done, out)?;
        writeln!(
            out,
            "   out          {} USDG",
            text(&done, "/data/result/amount_out")
        )?;
        Ok(())
    }

    async fn swapped(&self, out: &mut impl Write) -> Result<(), DemoError> {
        let body = json!({
            "chain_id": "196", "from_token": xlayer::USDG, "to_token": xlayer::USDT0, "amount": "50",
        });
        let done = self.completed(14, "/auto-swap", &body).await?;
        let bought = self.holds(xlayer::USDT0)?;
        if text(&done, "/data/result/amount_out_atoms") != bought.to_string() {
            return Err(step(14, "what the answer says", bought));
        }
        writeln!(out, "\n14. POST /auto-swap, 50 USDG for USD₮0")?;
        self.shown(&done, out)?;
        let floor = text(&done, "/data/result/min_out");
        writeln!(
            out,
            "   out          {} USD₮0, at least {floor}",
            dollars(bought)
        )?;
        Ok(())
    }

    async fn withdrawn(&self, out: &mut impl Write) -> Result<(), DemoError> {
        writeln!(out, "\n15. POST /auto-withdraw, to the owner only")?;
        for (token, name) in [(xlayer::USDG, "USDG"), (xlayer::USDT0, "USD₮0")] {
            let body = json!({ "chain_id": "196", "token": token, "amount": "max" });
            let done = self.completed(15, "/auto-withdraw", &body).await?;
            let left = self.holds(token)?;
            if !left.is_zero() {
                return Err(step(15, "an empty sub-wallet", left));
            }
            self.shown(&done, out)?;
            writeln!(
                out,
                "   delivered    {} {name}",
                text(&done, "/data/result/delivered")
            )?;
        }
        Ok(out.flush()?)
    }

    /// Pays for an action.
    async fn act(&self, route: &str, body: &Value) -> Result<BuyerAnswer, DemoError> {
        let unpaid = self.server.post(route, body.to_string(), None).await?;
        let challenge = unpaid
            .challenge
            .ok_or_else(|| step(11, "402 with a challenge", unpaid.status))?;
        let payment = self.server.sign(&challenge, 300)?;
        let posted = self.server.post(route, body.to_string(), Some(&payment));
        Ok(posted.await?)
    }

    /// Pays for an action and expects that it completes.
    async fn completed(&self, at: u8, route: &str, body: &Value) -> Result<BuyerAnswer, DemoError> {
        let done = self.act(route, body).await?;
        settled(at, &done)?;
        if member(&done, "/data/status") != "completed" {
            return Err(step(at, "a completed action", done.text));
        }
        Ok(done)
    }

    /// Prints every transaction of an action.
    fn shown(&self, done: &BuyerAnswer, out: &mut impl Write) -> Result<(), DemoError> {
        let steps = member(done, "/data/steps").as_array();
        for step in steps.into_iter().flatten() {
            let of = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
            writeln!(out, "   {:12} {}", of("kind"), of("tx_hash"))?;
        }
        Ok(())
    }

    fn holds(&self, token: Address) -> Result<alloy_primitives::U256, DemoError> {
        Ok(self.stage.chain.balance_of(token, self.wallet)?)
    }
}

/// The owner's signature that a refusal asks for.
fn authorized(asked: &Value) -> Result<Value, DemoError> {
    let sign = || -> Option<String> {
        let typed: TypedData = serde_json::from_value(asked.clone()).ok()?;
        let key = PrivateKeySigner::from_bytes(&BUYER.key).ok()?;
        let signature = key
            .sign_hash_sync(&typed.eip712_signing_hash().ok()?)
            .ok()?;
        Some(hex::encode_prefixed(signature.as_bytes()))
    };
    let signature = sign().ok_or(BuyerError::Sign)?;
    Ok(json!({ "signature": signature, "authorization": asked.get("message") }))
}

fn text<'a>(answer: &'a BuyerAnswer, pointer: &str) -> &'a str {
    member(answer, pointer).as_str().unwrap_or_default()
}
