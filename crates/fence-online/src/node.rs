//! A chain, read through the holder's own endpoint and not through the service. It reads only: the
//! holder's wallet sends transactions.

use alloy_primitives::{B256, Bytes, U256};
use clap::Args;
use delegation_fence::onchain::{ChainGrant, Purpose, Read, judge_code};
use fence_offline::{Exit, Failure, Printable, Refused, settings::Settings};
use serde::Serialize;
use serde_json::{Value, json};

use crate::client::Client;

/// The arguments that select the endpoint of the chain, and the depth of a reading.
#[derive(Debug, Args)]
pub struct Endpoint {
    /// An endpoint of the chain (JSON-RPC), like `https://mainnet.base.org`; plain http only for
    /// this machine
    #[arg(
        long,
        value_name = "URL",
        env = "SVC_FENCE_RPC_URL",
        hide_env_values = true
    )]
    pub url: Option<String>,
    /// How many blocks have to be above the block that is read
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub confirmations: u64,
}

impl Endpoint {
    pub(crate) fn connect(&self, settings: &Settings) -> Result<Node, Failure> {
        let url = self.url.clone().or_else(|| settings.rpc_url.clone());
        let url = url.ok_or_else(|| {
            Failure::usage(
                "--url is missing: give an endpoint of the chain, or set SVC_FENCE_RPC_URL, or rpc_url in ~/.config/svc-fence/config.toml",
            )
        })?;
        Node::new(&url, self.confirmations)
    }
}

/// An endpoint of a chain.
pub(crate) struct Node {
    client: Client,
    confirmations: u64,
}

/// The chain's state of a grant, all of it in one sealed block.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ChainState {
    /// The block.
    pub(crate) block_number: u64,
    /// Its hash.
    pub(crate) block_hash: B256,
    /// Whether the account has the framework's code.
    pub(crate) code: bool,
    /// Whether the account has counted up, so that the delegations are void.
    pub(crate) counted_up: bool,
    /// The router's allowance for the input token, in the smallest unit.
    #[serde(serialize_with = "decimal")]
    pub(crate) allowance: U256,
    /// Each delegation.
    pub(crate) delegations: Vec<DelegationState>,
}

/// One delegation.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DelegationState {
    pub(crate) purpose: &'static str,
    pub(crate) hash: B256,
    pub(crate) disabled: bool,
    #[serde(skip)]
    pub(crate) has_to_end: bool,
}

impl ChainState {
    /// Whether everything is disabled that has to be.
    pub(crate) fn is_over(&self) -> bool {
        self.delegations
            .iter()
            .all(|delegation| delegation.disabled || !delegation.has_to_end)
    }

    /// The delegations that are already disabled.
    pub(crate) fn already(&self) -> Vec<B256> {
        let disabled = self.delegations.iter().filter(|one| one.disabled);
        disabled.map(|one| one.hash).collect()
    }
}

impl Node {
    pub(crate) fn new(url: &str, confirmations: u64) -> Result<Self, Failure> {
        Ok(Self {
            client: Client::of_node(url)?,
            confirmations,
        })
    }

    /// Reads everything about a grant in one block, by its hash: an endpoint whose nodes are not at
    /// the same height answers an error rather than a mixture.
    ///
    /// # Errors
    /// `chain_mismatch` for an endpoint of another chain; an endpoint that cannot be used.
    pub(crate) fn state(&self, grant: &ChainGrant) -> Result<ChainState, Failure> {
        let chain_id = number(&self.call("eth_chainId", &json!([]))?)?;
        if chain_id != grant.chain_id() {
            return Err(Refused::new(
                "chain_mismatch",
                "the endpoint is of another chain than the grant",
            )
            .comparing(grant.chain_id(), chain_id)
            .into());
        }
        let (height, _) = self.block("latest")?;
        let sealed = height.saturating_sub(self.confirmations);
        let (block_number, block_hash) = self.block(&format!("{sealed:#x}"))?;
        let at = json!({"blockHash": block_hash, "requireCanonical": true});
        let code = self.call("eth_getCode", &json!([grant.account().to_string(), at]))?;
        let delegations = grant
            .delegations()
            .iter()
            .map(|(purpose, signed)| self.delegation(*purpose, signed.delegation.hash(), &at))
            .collect::<Result<_, _>>()?;
        let nonce = self.read(&Read::nonce(grant.account()), &at)?;
        let nonce = Read::number(&nonce).ok_or_else(|| no_answer("NonceEnforcer"))?;
        let allowance = self.read(&Read::allowance(grant), &at)?;
        let allowance = Read::number(&allowance).ok_or_else(|| no_answer("the token"))?;
        Ok(ChainState {
            block_number,
            block_hash,
            code: judge_code(&bytes(&code)?).is_ok(),
            counted_up: nonce != grant.nonce(),
            allowance,
            delegations,
        })
    }

    fn delegation(
        &self,
        purpose: Purpose,
        hash: B256,
        at: &Value,
    ) -> Result<DelegationState, Failure> {
        let answer = self.read(&Read::disabled(hash), at)?;
        Ok(DelegationState {
            purpose: purpose.as_str(),
            hash,
            disabled: Read::yes(&answer).ok_or_else(|| no_answer("the delegation manager"))?,
            has_to_end: purpose.ends_with_the_grant(),
        })
    }

    fn read(&self, read: &Read, at: &Value) -> Result<Bytes, Failure> {
        let call = json!([{"to": read.to.to_string(), "data": read.data}, at]);
        bytes(&self.call("eth_call", &call)?)
    }

    /// Number and hash of a block.
    fn block(&self, which: &str) -> Result<(u64, B256), Failure> {
        let block = self.call("eth_getBlockByNumber", &json!([which, false]))?;
        let hash = block.get("hash").and_then(Value::as_str);
        let hash = hash.and_then(exact::parse_hex_array).map(B256::new);
        let number = block.get("number").map(number).transpose()?;
        number
            .zip(hash)
            .ok_or_else(|| unusable("its answer is no block"))
    }

    fn call(&self, method: &str, params: &Value) -> Result<Value, Failure> {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.client.post("", &request.to_string())?;
        if let Some(error) = answer.body.get("error").filter(|error| !error.is_null()) {
            let message = error.get("message").and_then(Value::as_str);
            return Err(unusable(&format!(
                "{method}: {}",
                Printable(message.unwrap_or("an error without words"))
            )));
        }
        match answer.body.get("result") {
            Some(result) if answer.status == 200 && !result.is_null() => Ok(result.clone()),
            _ => Err(unusable(&format!("{method}: answered nothing"))),
        }
    }
}

fn decimal<S: serde::Serializer>(number: &U256, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

fn number(value: &Value) -> Result<u64, Failure> {
    value
        .as_str()
        .and_then(|text| text.strip_prefix("0x"))
        // `from_str_radix` accepts a sign.
        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| unusable("its answer is no number"))
}

fn bytes(value: &Value) -> Result<Bytes, Failure> {
    value
        .as_str()
        .and_then(exact::parse_hex)
        .map(Bytes::from)
        .ok_or_else(|| unusable("its answer is no bytes"))
}

fn no_answer(contract: &str) -> Failure {
    unusable(&format!(
        "{contract} answers nothing that can be read: is it on this chain?"
    ))
}

fn unusable(why: &str) -> Failure {
    Failure::Error(
        format!("the chain's endpoint cannot be used: {why}"),
        Exit::Network,
    )
}
