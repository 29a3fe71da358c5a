//! The chain of the siege: the facilitator settles on it, and the judge reads the payments from it.

use std::collections::BTreeMap;
use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use alloy_sol_types::{SolCall as _, SolEvent as _, sol};
use dev_chain::{DEV_ACCOUNTS, DevAccount, DevChain, GAS_PAYER, USDC, USDG, USDT0, base, xlayer};
use serde_json::{Value, json};
use x402_wire::Scheme;

use crate::SiegeError;
use crate::payment::Key;

/// The payee. It is no account of local chains, because `serve` refuses such a payee.
pub const PAYEE: Address = Address::new(hex!("5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"));

sol! {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    function transferWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature
    ) external;
    function transfer(address to, uint256 value) external returns (bool);
}

/// The account in whose favour attackers lie.
pub const THIEF: Address = Address::new(hex!("00000000000000000000000000000000000badad"));

/// The account that gives sub-wallets their coins.
const RICH_IN_COINS: DevAccount = DEV_ACCOUNTS[6];

/// The payee after a restart with other terms.
pub const OTHER_PAYEE: Address = Address::new(hex!("fB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"));

/// A token on one of the chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token {
    /// The id of the chain.
    pub chain: u64,
    /// Its contract.
    pub contract: Address,
}

impl Token {
    /// A token of the chain of payments.
    pub const fn paid_with(contract: Address) -> Self {
        let chain = xlayer::CHAIN_ID;
        Self { chain, contract }
    }

    /// A token of the chain on which delegates trade.
    pub const fn traded(contract: Address) -> Self {
        let chain = base::CHAIN_ID;
        Self { chain, contract }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of chain {}", self.contract, self.chain)
    }
}

/// The tokens that owners have.
pub const TOKENS: [Token; 5] = [
    Token::paid_with(USDT0),
    Token::paid_with(USDC),
    Token::paid_with(USDG),
    Token::traded(base::USDC),
    Token::traded(base::WETH),
];

/// Amounts of tokens.
pub type Money = BTreeMap<Token, U256>;

/// How much of a token an owner moves into its sub-wallet, in the smallest unit.
const ENDOWMENT: u64 = 300_000_000;
/// The coins for gas that a sub-wallet gets on each chain: a tenth of a coin.
const COINS: &str = "0x16345785d8a0000";

/// A payment that reached a facilitator.
#[derive(Debug, Clone)]
pub struct Presented {
    /// The key of its authorization.
    pub key: Key,
    /// Whether it is a promise of a broker, which no chain knows.
    pub is_deferred: bool,
    calldata: Bytes,
}

impl Presented {
    /// Reads the body of a `/verify` or `/settle` request. `None` for another body.
    pub fn read(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let payload = body.pointer("/paymentPayload/payload")?;
        let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str);
        let member = |name: &str| text(&format!("/authorization/{name}"));
        let number = |name: &str| U256::from_str_radix(member(name)?, 10).ok();
        let key = Key {
            asset: body
                .pointer("/paymentRequirements/asset")?
                .as_str()?
                .parse()
                .ok()?,
            payer: member("from")?.parse().ok()?,
            nonce: member("nonce")?.parse().ok()?,
        };
        let call = transferWithAuthorizationCall {
            from: key.payer,
            to: member("to")?.parse().ok()?,
            value: number("value")?,
            validAfter: number("validAfter")?,
            validBefore: number("validBefore")?,
            nonce: key.nonce,
            signature: hex::decode(text("/signature")?).ok()?.into(),
        };
        let scheme = body
            .pointer("/paymentRequirements/scheme")
            .and_then(Value::as_str);
        Some(Self {
            key,
            is_deferred: scheme == Some(Scheme::AggrDeferred.as_str()),
            calldata: call.abi_encode().into(),
        })
    }
}

/// Money that an authorization has moved from a payer to a payee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// The key of the authorization.
    pub key: Key,
    /// The hash of the transaction.
    pub transaction: B256,
    /// The paid amount, in the asset's smallest unit: a millionth of a dollar.
    pub amount: u64,
}

/// The chain of payments and the one on which delegates trade, with the questions and actions that
/// a siege needs.
#[derive(Debug, Clone)]
pub struct Bank {
    chain: DevChain,
    base: DevChain,
}

impl Bank {
    /// Wraps the chain of payments, and the one on which delegates trade.
    pub fn new(chain: DevChain, base: DevChain) -> Self {
        Self { chain, base }
    }

    /// Returns the chain of payments.
    pub fn chain(&self) -> &DevChain {
        &self.chain
    }

    /// Returns the chain on which delegates trade.
    pub fn base(&self) -> &DevChain {
        &self.base
    }

    /// Moves tokens of an owner into its sub-wallet, and gives the sub-wallet coins for gas.
    ///
    /// # Errors
    /// When the owner has too little.
    pub fn endow(&self, owner: Address, wallet: Address) -> Result<(), SiegeError> {
        for (chain, tokens) in [
            (&self.chain, &[USDG, USDT0][..]),
            (&self.base, &[base::USDC][..]),
        ] {
            for token in tokens {
                let value = U256::from(ENDOWMENT);
                let transfer = transferCall { to: wallet, value };
                chain.call_as(owner, *token, &transfer)?;
            }
            let coins = json!({ "from": RICH_IN_COINS.address, "to": wallet, "value": COINS });
            let sent = chain.request("eth_sendTransaction", json!([coins]));
            sent.map_err(|refused| SiegeError::NotReady {
                what: "coins for a sub-wallet",
                observed: refused.to_string(),
            })?;
            chain.mine();
        }
        Ok(())
    }

    /// Returns what these accounts have together.
    ///
    /// # Errors
    /// When a chain cannot be read.
    pub fn money(&self, accounts: &[Address]) -> Result<Money, SiegeError> {
        let mut money = Money::new();
        for token in TOKENS {
            let chain = match token.chain {
                base::CHAIN_ID => &self.base,
                _ => &self.chain,
            };
            let sum = money.entry(token).or_default();
            for account in accounts {
                *sum = sum.saturating_add(chain.balance_of(token.contract, *account)?);
            }
        }
        Ok(money)
    }

    /// Checks that a payment would move money now.
    ///
    /// # Errors
    /// The reason code that a facilitator would give.
    pub fn check(&self, payment: &Presented) -> Result<(), &'static str> {
        let Key {
            asset,
            payer,
            nonce,
        } = payment.key;
        if matches!(self.chain.authorization_used(asset, payer, nonce), Ok(true)) {
            return Err("invalid_exact_evm_nonce_already_used");
        }
        match self.ask("eth_call", json!([self.transaction(payment), "latest"])) {
            Some(_) => Ok(()),
            None => Err(self.reason(payment)),
        }
    }

    fn reason(&self, payment: &Presented) -> &'static str {
        match self.chain.balance_of(payment.key.asset, payment.key.payer) {
            Ok(balance) if balance.is_zero() => "insufficient_funds",
            _ => "invalid_exact_evm_transaction_simulation_failed",
        }
    }

    /// Sends a payment to the chain. Returns the transaction's hash if it moved money.
    pub fn settle(&self, payment: &Presented) -> Option<B256> {
        let sent = self.ask("eth_sendTransaction", json!([self.transaction(payment)]))?;
        let receipt = self.ask("eth_getTransactionReceipt", json!([sent]))?;
        let logs = receipt.get("logs")?.as_array()?;
        let moved = logs
            .iter()
            .any(|log| topic(log, 0) == Some(Transfer::SIGNATURE_HASH));
        sent.as_str()?.parse().ok().filter(|_| moved)
    }

    fn transaction(&self, payment: &Presented) -> Value {
        json!({
            "from": GAS_PAYER.address,
            "to": payment.key.asset,
            "data": payment.calldata,
            "gas": "0x30d40",
        })
    }

    /// Returns how many transactions of the settling account failed.
    pub fn failed_transactions(&self) -> u64 {
        let transactions = self.chain.transactions();
        let own = transactions
            .iter()
            .filter(|mined| mined.from == GAS_PAYER.address);
        let failed = own.filter(|mined| !mined.success);
        u64::try_from(failed.count()).unwrap_or(u64::MAX)
    }

    /// Returns every payment to a payee by an authorization, the oldest first.
    pub fn charges(&self) -> Vec<Charge> {
        let topics = json!([[Transfer::SIGNATURE_HASH, AuthorizationUsed::SIGNATURE_HASH]]);
        let filter = json!({
            "fromBlock": "0x0", "toBlock": "latest", "address": [USDT0, USDC, USDG], "topics": topics,
        });
        let logs = self.ask("eth_getLogs", json!([filter]));
        let logs = logs.as_ref().and_then(Value::as_array);
        charges_in(logs.map_or(&[], Vec::as_slice))
    }

    /// Asks the chain without injected failures. `None` when the answer is an error.
    fn ask(&self, method: &str, params: Value) -> Option<Value> {
        self.chain.request(method, params).ok()
    }
}

fn topic(log: &Value, number: usize) -> Option<B256> {
    log.get("topics")?.get(number)?.as_str()?.parse().ok()
}

/// Finds the charges in logs. A transaction of the siege's settlers uses one authorization and
/// moves its money, or does nothing. If a transaction used several authorizations, it would count
/// for each payer whose money it moved.
fn charges_in(logs: &[Value]) -> Vec<Charge> {
    let mut used: BTreeMap<(B256, Address), Vec<Key>> = BTreeMap::new();
    let mut moved = Vec::new();
    for log in logs {
        let member = |name: &str| log.get(name).and_then(Value::as_str);
        let transaction = member("transactionHash").and_then(|text| text.parse::<B256>().ok());
        let asset = member("address").and_then(|text| text.parse::<Address>().ok());
        let (Some(transaction), Some(asset)) = (transaction, asset) else {
            continue;
        };
        let (Some(first), Some(second)) = (topic(log, 1), topic(log, 2)) else {
            continue;
        };
        let payer = Address::from_word(first);
        if topic(log, 0) == Some(AuthorizationUsed::SIGNATURE_HASH) {
            let key = Key {
                asset,
                payer,
                nonce: second,
            };
            used.entry((transaction, payer)).or_default().push(key);
        } else if [PAYEE, OTHER_PAYEE].contains(&Address::from_word(second)) {
            let amount = member("data").and_then(|text| text.parse::<U256>().ok());
            let amount = amount.and_then(|amount| u64::try_from(amount).ok());
            moved.push((transaction, payer, amount.unwrap_or_default()));
        }
    }
    let charged = moved.into_iter().flat_map(|(transaction, payer, amount)| {
        let keys = used.get(&(transaction, payer)).cloned();
        keys.unwrap_or_default().into_iter().map(move |key| Charge {
            key,
            transaction,
            amount,
        })
    });
    charged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;
    use crate::payment::{Offer, Wallet};
    use bench::exchange::{HttpAnswer, PAYMENT_REQUIRED};
    use http::{HeaderMap, HeaderValue, StatusCode};
    use x402_wire::{Asset, MicroUsd, Network, Terms, encode_header};

    fn offer() -> Offer {
        let terms = Terms {
            network: Network::evm(196),
            pay_to: PAYEE,
            max_timeout_seconds: 300,
            assets: Asset::chain_196().to_vec(),
        };
        let accepts: Vec<_> = terms
            .offer(MicroUsd::dollars("0.002"))
            .options()
            .cloned()
            .collect();
        let challenge =
            json!({"x402Version": 2, "resource": {"url": "http://x/"}, "accepts": accepts});
        let header = HeaderValue::try_from(encode_header(&challenge.to_string())).unwrap();
        Offer::of(&HttpAnswer {
            status: StatusCode::PAYMENT_REQUIRED,
            headers: HeaderMap::from_iter([(PAYMENT_REQUIRED, header)]),
            body: bytes::Bytes::new(),
        })
        .unwrap()
    }

    /// Converts a payment to the form in which a facilitator gets it.
    fn presented(signed: &crate::payment::Signed) -> Presented {
        let header = signed.header();
        let payload: Value =
            serde_json::from_str(&x402_wire::decode_header(header.as_bytes()).unwrap()).unwrap();
        let body = json!({"paymentRequirements": payload["accepted"], "paymentPayload": payload});
        Presented::read(body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_payment_moves_money_once_and_is_found_again() {
        let mut chance = Chance::of(1, "bank");
        let wallet = Wallet::draw(&mut chance).unwrap();
        let funds = U256::from(1_000_000);
        let chain = DevChain::builder().chain_196_assets();
        let chain = [USDT0, USDC, USDG].into_iter().fold(chain, |chain, token| {
            chain.holder(token, wallet.address(), funds)
        });
        let base = DevChain::builder().base_stage().build().unwrap();
        let bank = Bank::new(chain.build().unwrap(), base);
        let mut settled = Vec::new();
        for _ in 0..6 {
            let signed = wallet.sign(&offer(), "/", 60, &mut chance).unwrap();
            let payment = presented(&signed);
            assert_eq!(bank.check(&payment), Ok(()));
            let transaction = bank.settle(&payment).unwrap();
            assert!(bank.settle(&payment).is_none());
            assert_eq!(
                bank.check(&payment),
                Err("invalid_exact_evm_nonce_already_used")
            );
            settled.push(Charge {
                key: signed.key,
                transaction,
                amount: 2_000,
            });
        }
        assert_eq!(bank.charges(), settled);
        let forged = wallet
            .sign_for(PAYEE, &offer(), "/", 60, &mut chance)
            .unwrap();
        assert!(bank.check(&presented(&forged)).is_err());
        assert!(bank.settle(&presented(&forged)).is_none());
    }
}
