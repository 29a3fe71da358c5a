//! The fence's steps of the demo: a grant, a plan that is sent, one that a revocation interrupts,
//! and the log. Each step is checked before it is printed.

mod messages;
mod plans;
mod quotes;
mod stage;

use std::io::Write;
use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, U256};
use calldata_checks::UtcSeconds;
use delegation_fence::{AccountKind, Grant, Revocation, VerifiedLog, verify_log};
use dev_chain::{BUYER, DEV_ACCOUNTS, DevAccount, base};
use serde_json::Value;

use self::messages::{now, project, sign};
pub use self::plans::{EmbeddedPlan, EmbeddedPlans};
pub use self::stage::{FenceStage, FenceStageError};
use super::DemoError;
use super::buyer::{Buyer, BuyerAnswer, BuyerError};
use super::transcript::{dollars, ether, member, settled, step};

/// The account that owns the sub-wallet and signs the grant.
const OWNER: DevAccount = BUYER;
/// The account that orders plans.
const AGENT: DevAccount = DEV_ACCOUNTS[2];
/// The sub-wallet's funds: 1,000 USDC.
const FUNDS: u64 = 1_000_000_000;
/// The amount of one plan: 200 USDC.
const AMOUNT: u64 = 200_000_000;
/// The grant's cap: 250 USDC.
const CAP: u64 = 250_000_000;
const DAY: u64 = 86_400;
/// The largest age of a sealed block of the embedded chain, in seconds.
const CHAIN_LAG: u64 = 15;
/// The time limit of a plan: more than it needs on a chain with a block each second.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(150);

/// Shows a grant, a plan that is sent, a plan that a revocation interrupts, and the log.
pub(super) async fn show(stage: &FenceStage, out: &mut impl Write) -> Result<(), DemoError> {
    let round = Round::begin(stage).await?;
    writeln!(
        out,
        "\nA permission, on an embedded chain (id {}) with the router's interface.",
        base::CHAIN_ID
    )?;
    round.granted(out).await?;
    let (body, digest) = round.ordered(7).await?;
    round.accepted(&body, digest, out).await?;
    round.sent(digest, out).await?;
    round.revoked(out).await?;
    round.logged(out).await
}

/// Prints example requests to the fence.
pub(super) fn invite(stage: &FenceStage, out: &mut impl Write) -> Result<(), DemoError> {
    writeln!(
        out,
        "\n# the fence's own server, and the settings of fence-cli: docs/FENCE-TUTORIAL.md"
    )?;
    writeln!(
        out,
        "export SVC_FENCE_URL=http://{} SVC_FENCE_PROJECT_ID={} SVC_FENCE_SALT={}",
        stage.address,
        FenceStage::PROJECT,
        FenceStage::SALT
    )?;
    writeln!(out, "curl http://{}/delegation/status", stage.address)?;
    Ok(out.flush()?)
}

struct Round<'a> {
    stage: &'a FenceStage,
    server: Buyer,
    wallet: Address,
    grant_id: B256,
}

impl<'a> Round<'a> {
    /// Pays for `GET /sub-wallet` as the owner, and gives the wallet USDC, and coins for gas.
    async fn begin(stage: &'a FenceStage) -> Result<Self, DemoError> {
        let server = Buyer::new(OWNER, stage.address)?;
        let unpaid = server.get("/sub-wallet", None).await?;
        let challenge = unpaid
            .challenge
            .ok_or_else(|| step(6, "402 with a challenge", unpaid.status))?;
        let payment = server.sign(&challenge, 300)?;
        let paid = server.get("/sub-wallet", Some(&payment)).await?;
        settled(6, &paid)?;
        let wallet = member(&paid, "/data/sub_wallet").as_str();
        let wallet = wallet
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| step(6, "a sub-wallet", &paid.text))?;
        stage.fund(wallet, FUNDS)?;
        let mut grant_id = B256::ZERO;
        getrandom::fill(grant_id.as_mut_slice()).map_err(|_| BuyerError::Sign)?;
        Ok(Self {
            stage,
            server,
            wallet,
            grant_id,
        })
    }

    async fn granted(&self, out: &mut impl Write) -> Result<(), DemoError> {
        let policy = &self.stage.policy;
        // The grant must also be valid by the newest sealed block's clock, which is behind this
        // machine's.
        let at = now().saturating_sub(CHAIN_LAG);
        let grant = Grant {
            account: self.wallet,
            account_kind: AccountKind::SubWallet,
            chain_id: base::CHAIN_ID,
            policy_name: policy.name().clone(),
            rules_digest: policy.digest(),
            project_id: project(6)?,
            capability: policy.capability().clone(),
            delegate: AGENT.address,
            per_swap_cap: U256::from(CAP),
            grant_id: self.grant_id,
            issued_at: at,
            not_before: at,
            expires_at: at.saturating_add(30 * DAY),
        };
        let until = UtcSeconds::from_unix(grant.expires_at);
        let signed = sign(6, grant, OWNER)?;
        writeln!(out, "\n6. A grant, signed offline by its owner")?;
        writeln!(out, "   owner        {}", OWNER.address)?;
        writeln!(
            out,
            "   account      {}  (a sub-wallet: the server keeps its key)",
            self.wallet
        )?;
        writeln!(out, "   balance      {} USDC", self.usdc()?)?;
        writeln!(
            out,
            "   permits      swaps of at most {} USDC each, ordered by {}, until {until}",
            dollars(U256::from(CAP)),
            AGENT.address
        )?;
        writeln!(out, "   policy       {} {}", policy.name(), policy.digest())?;
        let answer = self
            .server
            .post("/delegation/grants", signed.to_json(), None)
            .await?;
        expect(6, "201 active", &answer, 201, "/state", "active")?;
        writeln!(out, "   POST /delegation/grants\n   201 active")?;
        Ok(())
    }

    /// Makes a plan now, with its order, as the body of a submission.
    async fn ordered(&self, number: u8) -> Result<(Value, B256), DemoError> {
        let plan = self.stage.plan(self.wallet, AMOUNT).await?;
        let order = plan.order(self.wallet, self.grant_id)?;
        let digest = order.payload_digest;
        let body = plan.submission(&sign(number, order, AGENT)?)?;
        Ok((body, digest))
    }

    async fn accepted(
        &self,
        body: &Value,
        digest: B256,
        out: &mut impl Write,
    ) -> Result<(), DemoError> {
        let quoted = |member: &str| {
            let quote = body.pointer(&format!("/envelope/payload/quote/{member}"));
            let digits = quote.and_then(Value::as_str).unwrap_or_default();
            digits.parse::<U256>().unwrap_or_default()
        };
        writeln!(out, "\n7. A plan, and the agent's order for it")?;
        writeln!(out, "   plan         {digest}")?;
        writeln!(
            out,
            "   swaps        {} USDC for at least {} WETH",
            dollars(quoted("from_amount")),
            ether(quoted("to_amount_min"))
        )?;
        let mut tried = body.clone();
        if let Some(members) = tried.as_object_mut() {
            members.insert("dry_run".to_owned(), true.into());
        }
        let answer = self
            .server
            .post("/delegation/submissions", tried.to_string(), None)
            .await?;
        if answer.status != 200 || *member(&answer, "/admitted") != true {
            return Err(step(7, "admitted by the dry run", &answer.text));
        }
        writeln!(out, "   dry run      admitted, nothing sent")?;
        let answer = self.submit(7, body).await?;
        writeln!(
            out,
            "   POST /delegation/submissions\n   202 {}",
            member(&answer, "/state").as_str().unwrap_or_default()
        )?;
        Ok(())
    }

    async fn sent(&self, digest: B256, out: &mut impl Write) -> Result<(), DemoError> {
        let answer = self.end(8, digest).await?;
        let landed = member(&answer, "/landed/amount")
            .as_str()
            .unwrap_or_default();
        let weth = self.stage.base.balance_of(base::WETH, self.wallet)?;
        let steps = member(&answer, "/steps")
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let holds = *member(&answer, "/state") == "done"
            && *member(&answer, "/landed/ok") == true
            && landed == weth.to_string()
            && steps.len() == 3
            && *member(&answer, "/allowance_read_back") == "0"
            && self.allowance()?.is_zero();
        if !holds {
            return Err(step(8, "three sealed steps, and the output", &answer.text));
        }
        writeln!(
            out,
            "\n8. Three steps, each in a sealed block before the next"
        )?;
        for step in steps {
            let text = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
            writeln!(
                out,
                "   {:13} {} {}",
                text("kind"),
                text("status"),
                text("tx_hash")
            )?;
        }
        writeln!(out, "   landed       {} WETH", ether(weth))?;
        writeln!(out, "   allowance    0, read back")?;
        writeln!(out, "   balance      {} USDC", self.usdc()?)?;
        Ok(())
    }

    /// Ends the grant as its owner while the router has an allowance for a second plan.
    async fn revoked(&self, out: &mut impl Write) -> Result<(), DemoError> {
        let before = self.stage.base.balance_of(base::WETH, self.wallet)?;
        let (body, digest) = self.ordered(9).await?;
        self.submit(9, &body).await?;
        let begun = Instant::now();
        while self.allowance()?.is_zero() {
            if begun.elapsed() > PATIENCE {
                return Err(step(9, "an allowance for the second plan", "none"));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let allowed = self.allowance()?;
        let revocation = Revocation {
            account: self.wallet,
            chain_id: base::CHAIN_ID,
            grant_id: self.grant_id,
            project_id: project(9)?,
            revoked_at: now(),
        };
        let signed = sign(9, revocation, OWNER)?.to_json();
        let answer = self
            .server
            .post("/delegation/revocations", signed, None)
            .await?;
        expect(9, "200 revoked", &answer, 200, "/state", "revoked")?;
        let answer = self.end(9, digest).await?;
        let holds = *member(&answer, "/state") == "halted_clean"
            && *member(&answer, "/allowance_read_back") == "0"
            && self.allowance()?.is_zero()
            && self.stage.base.balance_of(base::WETH, self.wallet)? == before;
        if !holds {
            return Err(step(9, "halted_clean without an allowance", &answer.text));
        }
        writeln!(out, "\n9. The owner ends it in the middle of a second plan")?;
        writeln!(
            out,
            "   allowance    {} USDC, when the owner signs",
            dollars(allowed)
        )?;
        writeln!(out, "   POST /delegation/revocations\n   200 revoked")?;
        let text = |pointer: &str| member(&answer, pointer).as_str().unwrap_or_default();
        writeln!(
            out,
            "   halted_clean at {}: {}",
            text("/halted_at"),
            text("/reason")
        )?;
        writeln!(out, "   allowance    0, read back")?;
        writeln!(
            out,
            "   balance      {} USDC: nothing was swapped",
            self.usdc()?
        )?;
        Ok(())
    }

    async fn logged(&self, out: &mut impl Write) -> Result<(), DemoError> {
        let path = format!("/delegation/grants/{}/{}/log", self.wallet, self.grant_id);
        let answer = self.server.get(&path, None).await?;
        let log: VerifiedLog = verify_log([answer.text.as_str()])
            .map_err(|refusal| step(10, "a log that verifies", refusal))?;
        if !log.is_revoked() || !log.open_plans().is_empty() {
            return Err(step(
                10,
                "a log that ends with the revocation",
                &answer.text,
            ));
        }
        let (body, _) = self.ordered(10).await?;
        let refused = self
            .server
            .post("/delegation/submissions", body.to_string(), None)
            .await?;
        expect(
            10,
            "403 grant_revoked",
            &refused,
            403,
            "/error/code",
            "grant_revoked",
        )?;
        writeln!(out, "\n10. The grant's log, verified offline")?;
        writeln!(
            out,
            "   log          verified: {} records, the last with the hash {}",
            log.records().len(),
            log.head().hash
        )?;
        writeln!(out, "   a third plan\n   403 grant_revoked")?;
        Ok(out.flush()?)
    }

    async fn submit(&self, number: u8, body: &Value) -> Result<BuyerAnswer, DemoError> {
        let answer = self
            .server
            .post("/delegation/submissions", body.to_string(), None)
            .await?;
        match answer.status {
            202 => Ok(answer),
            _ => Err(step(number, "202", &answer.text)),
        }
    }

    /// Waits for the end of a plan and returns its state.
    async fn end(&self, number: u8, digest: B256) -> Result<BuyerAnswer, DemoError> {
        let begun = Instant::now();
        loop {
            let path = format!("/delegation/submissions/{digest}");
            let answer = self.server.get(&path, None).await?;
            let state = member(&answer, "/state").as_str().unwrap_or_default();
            if matches!(state, "done" | "halted_clean" | "halted_dirty") {
                return Ok(answer);
            }
            if answer.status != 200 || begun.elapsed() > PATIENCE {
                return Err(step(number, "a plan at its end", &answer.text));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn allowance(&self) -> Result<U256, DemoError> {
        let chain = &self.stage.base;
        Ok(chain.allowance(base::USDC, self.wallet, base::ROUTER)?)
    }

    fn usdc(&self) -> Result<String, DemoError> {
        let balance = self.stage.base.balance_of(base::USDC, self.wallet)?;
        Ok(dollars(balance))
    }
}

fn expect(
    number: u8,
    expected: &'static str,
    answer: &BuyerAnswer,
    status: u16,
    pointer: &str,
    word: &str,
) -> Result<(), DemoError> {
    if answer.status == status && *member(answer, pointer) == word {
        return Ok(());
    }
    Err(step(number, expected, &answer.text))
}
