//! Honest owners of sub-wallets. Each pays for orders to its wallet, and has a delegate that trades
//! under a grant.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use api_server::{EmbeddedPlan, EmbeddedPlans, FenceStage};
use bytes::Bytes;
use delegation_fence::{AccountKind, Grant, Message, Name, Order as FenceOrder, Signed};
use dev_chain::{USDG, USDT0, base};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use crate::SiegeError;
use crate::bank::{Bank, Token};
use crate::buyer::{Buyer, brief, intent};
use crate::chance::Chance;
use crate::client::{CLIENT_ADDRESS, Client, Request};
use crate::field::Field;
use crate::payment::{Wallet, now};
use crate::record::{End, Fate, Order, Phase};

/// The most that a delegate may swap at once: 100 USDC.
pub const CAP: u64 = 100_000_000;

/// Who orders: an owner, its delegate, and the thief of the delegate's key.
pub const OWNER: &str = "honest owners' actions";
/// See [`OWNER`].
pub const DELEGATE: &str = "honest delegates' plans";
/// See [`OWNER`].
pub const THIEF: &str = "a stolen delegate's key";

/// The least part of a swap's worth that an owner gets, in percent. It allows for the slippage that
/// the owner permits and for the loss that the server's judgement of worth permits.
const KEPT_PERCENT: u64 = 96;

/// How far a grant begins in the past, in seconds: the chain's clock is behind this machine's.
const CHAIN_LAG: u64 = 30;

/// How long the set-up of an owner may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pauses between the orders of an owner, in milliseconds.
const PAUSE: (u64, u64) = (1_500, 5_000);

/// An owner of a sub-wallet.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The owner, as a buyer of actions.
    pub buyer: Buyer,
    /// The key that orders swaps under the owner's grant.
    pub delegate: Wallet,
    /// The id of the grant.
    pub grant_id: B256,
    /// The sub-wallet. Zero before the owner has it.
    pub wallet: Address,
}

impl Owner {
    /// Returns the address of the owner.
    pub fn address(&self) -> Address {
        self.buyer.wallet.address()
    }

    /// Buys the sub-wallet, moves money into it, and signs a grant for the delegate.
    ///
    /// # Errors
    /// When the server does not do its part in time.
    pub async fn settle_in(&mut self, field: &Arc<Field>, bank: &Bank) -> Result<(), SiegeError> {
        self.wallet = sub_wallet(&self.buyer, field).await?;
        bank.endow(self.address(), self.wallet)?;
        let at = now().saturating_sub(CHAIN_LAG);
        let policy = EmbeddedPlans::new(crate::bank::PAYEE)?.policy().clone();
        let grant = Grant {
            account: self.wallet,
            account_kind: AccountKind::SubWallet,
            chain_id: base::CHAIN_ID,
            policy_name: policy.name().clone(),
            rules_digest: policy.digest(),
            project_id: project()?,
            capability: policy.capability().clone(),
            delegate: self.delegate.address(),
            per_swap_cap: U256::from(CAP),
            grant_id: self.grant_id,
            issued_at: at,
            not_before: at,
            expires_at: at.saturating_add(86_400),
        };
        let signed = signed(grant, &self.buyer.wallet)?.to_json();
        let request = Request::post("/delegation/grants", signed);
        let request = request.with(CLIENT_ADDRESS, self.buyer.address.clone());
        let mut seen = String::new();
        for _ in 0..20 {
            match field.client().send(&request).await {
                Ok(answer) if answer.status.is_success() => return Ok(()),
                Ok(answer) => seen = String::from_utf8_lossy(&answer.body).into_owned(),
                Err(error) => seen = error.to_string(),
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Err(SiegeError::NotReady {
            what: "a grant",
            observed: seen,
        })
    }

    /// Pays for one action of the sub-wallet: a swap, or a withdrawal to the owner.
    async fn order(
        &self,
        field: &Arc<Field>,
        client: &mut Client,
        chance: &mut Chance,
    ) -> Result<(), SiegeError> {
        let atoms = chance.below(9_000_000).saturating_add(1_000_000);
        let amount = format!("{}.{:06}", atoms / 1_000_000, atoms % 1_000_000);
        let (from, to) = match chance.percent(50) {
            true => (USDG, USDT0),
            false => (USDT0, USDG),
        };
        let (target, body, gets) = match chance.percent(60) {
            true => (
                "/auto-swap",
                json!({
                    "chain_id": "196", "from_token": from.to_string(), "to_token": to.to_string(),
                    "amount": amount, "slippage": "1",
                }),
                (to, percent_of(atoms, KEPT_PERCENT)),
            ),
            // The owner has it then, instead of its sub-wallet.
            false => (
                "/auto-withdraw",
                json!({ "chain_id": "196", "token": from.to_string(), "amount": amount }),
                (from, U256::from(atoms)),
            ),
        };
        let body = Bytes::from(body.to_string());
        let (end, last) = self
            .buyer
            .order(field, client, chance, target, body)
            .await?;
        let seen = last.as_ref().map_or("no answer".to_owned(), brief);
        field.record.crowd(OWNER, seen);
        // A payment that is refused itself may have begun the action before.
        let begun = last.as_ref().map(|answer| answer.status) == Some(StatusCode::PAYMENT_REQUIRED);
        let fate = match (last.as_ref().and_then(intent), end) {
            (Some(id), _) => Fate::At(format!("/intents/{id}")),
            (None, End::Declined(_)) if !begun => Fate::Undone,
            (None, end) => Fate::Unknown(format!("{end:?}")),
        };
        field.record.seen().orders.push(Order {
            owner: self.address(),
            by: OWNER,
            gives: (Token::paid_with(from), U256::from(atoms)),
            gets: (Token::paid_with(gets.0), gets.1),
            fate,
        });
        Ok(())
    }

    /// Orders one swap as the delegate.
    async fn delegate(
        &self,
        field: &Field,
        plans: &EmbeddedPlans,
        chance: &mut Chance,
    ) -> Result<(), SiegeError> {
        let amount = chance.below(10_000_000).saturating_add(10_000_000);
        let plan = plans.plan(self.wallet, amount).await?;
        let order = plan.order(self.wallet, self.grant_id)?;
        self.submit(field, DELEGATE, amount, &plan, order).await
    }

    /// Signs an order of a plan with the delegate's key, submits it, and records the answer.
    ///
    /// # Errors
    /// When the order cannot be signed.
    pub async fn submit(
        &self,
        field: &Field,
        by: &'static str,
        amount: u64,
        plan: &EmbeddedPlan,
        order: FenceOrder,
    ) -> Result<(), SiegeError> {
        let digest = order.payload_digest;
        let body = plan.submission(&signed(order, &self.delegate)?)?;
        // Whatever the answer is, the server says later what became of the plan.
        let weth = U256::from(amount).saturating_mul(U256::from(base::WEI_PER_USDC_UNIT));
        field.record.seen().orders.push(Order {
            owner: self.address(),
            by,
            gives: (Token::traded(base::USDC), U256::from(amount)),
            gets: (
                Token::traded(base::WETH),
                weth * U256::from(KEPT_PERCENT) / U256::from(100),
            ),
            fate: Fate::At(format!("/delegation/submissions/{digest}")),
        });
        let request = Request::post("/delegation/submissions", body.to_string());
        let request = request.with(CLIENT_ADDRESS, self.buyer.address.clone());
        let answer = field.client().send(&request).await;
        let seen = answer.as_ref().map_or("no answer".to_owned(), brief);
        field.record.crowd(by, seen);
        Ok(())
    }
}

fn percent_of(atoms: u64, percent: u64) -> U256 {
    U256::from(u128::from(atoms) * u128::from(percent) / 100)
}

/// Signs a message of the fence.
///
/// # Errors
/// When the fence refuses its form.
pub fn signed<M: Message>(message: M, by: &Wallet) -> Result<Signed<M>, SiegeError> {
    Ok(EmbeddedPlans::sign(message, by.signer())?)
}

/// The project that the servers' fence serves.
///
/// # Errors
/// When its name is invalid, which does not happen.
pub fn project() -> Result<Name, SiegeError> {
    Name::new(FenceStage::PROJECT).map_err(|refusal| SiegeError::NotReady {
        what: "a project",
        observed: refusal.to_string(),
    })
}

/// Buys the buyer's sub-wallet, and returns its address.
///
/// # Errors
/// When there is no answer in time.
pub async fn sub_wallet(buyer: &Buyer, field: &Arc<Field>) -> Result<Address, SiegeError> {
    let mut chance = Chance::of(field.seed, &format!("{} settles in", buyer.name));
    let mut client = field.client();
    let bought = buyer.order(field, &mut client, &mut chance, "/sub-wallet", Bytes::new());
    let answer = match tokio::time::timeout(PATIENCE, bought).await {
        Ok(bought) => bought?.1,
        Err(_) => None,
    };
    let told = answer
        .as_ref()
        .filter(|answer| answer.status == StatusCode::OK);
    let told = told.and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok());
    let wallet = told
        .as_ref()
        .and_then(|told| told.pointer("/data/sub_wallet"));
    let wallet = wallet
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok());
    wallet.ok_or_else(|| SiegeError::NotReady {
        what: "a sub-wallet",
        observed: answer.map_or("no answer".to_owned(), |answer| {
            String::from_utf8_lossy(&answer.body).into_owned()
        }),
    })
}

/// Orders until the crowd leaves. The last action is completed.
///
/// # Errors
/// When something cannot be signed.
pub async fn keep_ordering(owner: Owner, field: Arc<Field>) -> Result<(), SiegeError> {
    let mut chance = Chance::of(field.seed, &owner.buyer.name);
    let mut client = field.client();
    let plans = EmbeddedPlans::new(crate::bank::PAYEE)?;
    while matches!(field.phase(), Phase::Peace | Phase::Siege) {
        // The plans and the actions of one owner have turns, so each kind keeps the other one off.
        match chance.percent(40) {
            true => owner.delegate(&field, &plans, &mut chance).await?,
            false => owner.order(&field, &mut client, &mut chance).await?,
        }
        let pause = chance.millis(PAUSE.0, PAUSE.1);
        if !field.sleep(pause).await {
            break;
        }
    }
    Ok(())
}

/// Makes a header value of a client address.
pub fn address(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}
