//! Plans over quotes of the embedded exchange, sealed by the rail's plan builder, and the orders of
//! them.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use calldata_checks::{Rail, UtcSeconds};
use delegation_fence::{
    Domain, LEAST_LIFE_SECONDS, Message, Order, Policy, Refusal as FenceRefusal, Signature, Signed,
    TypedData,
};
use dev_chain::{PAYEE, base};
use plan_builder::ports::NoSimulator;
use plan_builder::{FeeDocument, Moment, Request, swap};
use serde_json::{Value, json};

use super::quotes::EmbeddedQuotes;
use super::stage::{FenceStage, FenceStageError};

/// The policy that `fence-cli` pins.
const POLICY: &str = include_str!("../../../../../docs/fence-policy.example.json");
/// Reviewed fees of the embedded chain's contracts. Their version is the one that the policy names.
const FEES: &str = include_str!("../../../../../fixtures/vectors/plans/fees.toml");
const VERSION_OF_FEES: &str = "2026-11-01";

/// Makes plans of swaps on the embedded chain with the id of Base, under the shipped policy.
#[derive(Debug, Clone)]
pub struct EmbeddedPlans {
    policy: Policy,
    fees: String,
    rules: plan_builder::Policy,
}

impl EmbeddedPlans {
    /// Plans whose own fee goes to `recipient`.
    ///
    /// # Errors
    /// A policy or fees that are not valid.
    pub fn new(recipient: Address) -> Result<Self, FenceStageError> {
        let policy = Policy::parse(POLICY).map_err(refused)?;
        let fees = FEES
            .replace(VERSION_OF_FEES, policy.fee_config_version())
            .replace(&PAYEE.address.to_string(), &recipient.to_string());
        let document: FeeDocument = toml::from_str(&fees)?;
        Ok(Self {
            policy,
            rules: plan_builder::Policy::new(document.review()?),
            fees,
        })
    }

    /// The policy of the fence.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The policy's document.
    #[must_use]
    pub const fn policy_document() -> &'static str {
        POLICY
    }

    /// The reviewed fee configuration, as a file has it.
    #[must_use]
    pub fn fees(&self) -> &str {
        &self.fees
    }

    /// Makes a plan that swaps an account's USDC for WETH, sealed now.
    ///
    /// # Errors
    /// The plan builder's refusal.
    pub async fn plan(
        &self,
        account: Address,
        amount: u64,
    ) -> Result<EmbeddedPlan, FenceStageError> {
        let arguments = json!({
            "accountProfile": {"kind": "eoa", "address": account, "chainId": base::CHAIN_ID},
            "chainId": base::CHAIN_ID, "fromToken": base::USDC, "toToken": base::WETH,
            "fromAmount": amount.to_string(), "slippage": {"maxBps": 50},
        });
        self.plan_for(&arguments).await
    }

    /// Makes the plan for the `arguments` of the tool.
    ///
    /// # Errors
    /// The plan builder's refusal.
    pub async fn plan_for(&self, arguments: &Value) -> Result<EmbeddedPlan, FenceStageError> {
        let arguments = arguments.to_string();
        let Request::Swap(request) = Request::parse(Rail::Swap, &arguments)? else {
            return Err(io::Error::other("the arguments are of another rail").into());
        };
        let mut entropy = [0; 32];
        getrandom::fill(&mut entropy).map_err(|error| io::Error::other(error.to_string()))?;
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let quotes = EmbeddedQuotes {
            fees: &self.rules.fees,
            read_at: UtcSeconds::from_unix(since.as_secs()),
            transaction_id: B256::from(entropy),
        };
        let moment = Moment {
            now_millis: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            entropy,
        };
        let sealed = swap::build(&request, &quotes, &NoSimulator, &self.rules, &moment).await?;
        Ok(EmbeddedPlan {
            arguments,
            envelope: sealed.json().to_owned(),
        })
    }

    /// Signs a message of the fence for the stage's instance of the service.
    ///
    /// # Errors
    /// A message that the fence refuses.
    pub fn sign<M: Message>(
        message: M,
        key: &PrivateKeySigner,
    ) -> Result<Signed<M>, FenceStageError> {
        let domain = Domain::new(base::CHAIN_ID, FenceStage::SALT);
        let typed_data = TypedData::new(domain, message).map_err(refused)?;
        let signature = key
            .sign_hash_sync(&typed_data.digest())
            .map_err(io::Error::other)?;
        let signature = Signature::from_bytes(&signature.as_bytes()).map_err(refused)?;
        Ok(Signed::new(typed_data, signature))
    }
}

fn refused(refusal: FenceRefusal) -> FenceStageError {
    FenceStageError::Fence(Box::new(refusal))
}

/// A plan as the agent rail returns it to an agent.
#[derive(Debug, Clone)]
pub struct EmbeddedPlan {
    /// The `arguments` of the tool call.
    pub arguments: String,
    /// The envelope, byte for byte.
    pub envelope: String,
}

impl EmbeddedPlan {
    /// The order of this plan for an account under a grant.
    ///
    /// # Errors
    /// An envelope that is not one of a swap.
    pub fn order(&self, account: Address, grant_id: B256) -> Result<Order, FenceStageError> {
        let envelope: Value = serde_json::from_str(&self.envelope).map_err(io::Error::from)?;
        let text = |pointer: &'static str| {
            let found = envelope.pointer(pointer).and_then(Value::as_str);
            found.ok_or(FenceStageError::Envelope(pointer))
        };
        let call = "/payload/steps/2/data";
        let call: Bytes = parsed(call, text(call)?)?;
        let digest = "/submission/payload_digest";
        let least = "/payload/quote/to_amount_min";
        let end = "/valid_until";
        Ok(Order {
            account,
            grant_id,
            payload_digest: parsed(digest, text(digest)?)?,
            call_hash: keccak256(&call),
            output_token: base::WETH,
            min_amount_out: parsed::<U256>(least, text(least)?)?,
            deadline: parsed::<UtcSeconds>(end, text(end)?)?
                .unix()
                .saturating_sub(LEAST_LIFE_SECONDS),
        })
    }

    /// The body of a submission of this plan with a signed order.
    ///
    /// # Errors
    /// A plan that is no JSON.
    pub fn submission(&self, order: &Signed<Order>) -> Result<Value, FenceStageError> {
        let read = |text: &str| serde_json::from_str::<Value>(text).map_err(io::Error::from);
        let signed = read(&order.to_json())?;
        let message = order.message();
        Ok(json!({
            "account": message.account.to_string(), "grant_id": message.grant_id.to_string(),
            "request": read(&self.arguments)?, "envelope": read(&self.envelope)?,
            "order": signed.get("typed_data"), "signature": signed.get("signature"),
        }))
    }
}

fn parsed<T: std::str::FromStr>(pointer: &'static str, text: &str) -> Result<T, FenceStageError> {
    text.parse().map_err(|_| FenceStageError::Envelope(pointer))
}
