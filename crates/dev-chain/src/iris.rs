//! Circle's attestation service for chains of this crate: it watches them for burns, and answers as
//! `iris-api.circle.com` does.
//!
//! - `GET /v2/messages/{domain}?transactionHash=0x…`: the messages of a burn and their
//!   attestations; 404 before it is indexed.
//! - `GET /v2/burn/USDC/fees/{source}/{destination}`, with `?forward=true` too: the fees of a
//!   route.
//! - `GET /v2/fastBurn/USDC/allowance`: the remaining fast allowance, 52,455,615.650179 USDC.
//!
//! A burn that allows it (threshold 1000 or less, from a domain with fast transfers, a `maxFee` of
//! at least the fee) is attested as fast and pays the fee. Every other burn is attested as final,
//! free of charge. An unknown request is answered 404. There is no re-attestation and no
//! forwarding.

mod api;
mod burn;
mod server;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use alloy_primitives::{Address, B256, Bytes, U256};
use k256::ecdsa::SigningKey;

use self::burn::Burn;
pub use self::server::IrisServer;
use crate::{accounts::DevAccount, chain::DevChain, error::DevChainError};

/// The attestation service. Clones share its state.
#[derive(Clone, Debug)]
pub struct Iris {
    state: Arc<Mutex<State>>,
}

/// The service's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IrisReply {
    /// HTTP status.
    pub status: u16,
    /// JSON.
    pub body: String,
}

#[derive(Debug)]
struct State {
    key: SigningKey,
    chains: Vec<(u32, DevChain)>,
    /// Messages of other nodes: domain, transaction, place in its block, bytes.
    recorded: Vec<(u32, B256, u64, Bytes)>,
    asked: HashMap<(u32, B256), u32>,
    missing: u32,
    pending: u32,
    /// Statuses of the next answers.
    failing: Vec<u16>,
    fee_hundredths: u64,
    fee: Option<U256>,
    recipient: Option<Address>,
    expiration_block: u64,
}

impl Iris {
    /// A service that signs with the key of `attester`, such as
    /// [`cctp::ATTESTER`](crate::cctp::ATTESTER), and does not watch a chain yet.
    ///
    /// # Errors
    ///
    /// When the key is invalid.
    pub fn new(attester: DevAccount) -> Result<Self, DevChainError> {
        let key = SigningKey::from_slice(attester.key.as_slice());
        let state = State {
            key: key.map_err(|_| DevChainError::Key)?,
            chains: Vec::new(),
            recorded: Vec::new(),
            asked: HashMap::new(),
            missing: 0,
            pending: 0,
            failing: Vec::new(),
            fee_hundredths: 130,
            fee: None,
            recipient: None,
            expiration_block: 0,
        };
        Ok(Self {
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// Attests the burns of `chain`, which is the chain of a CCTP domain.
    #[must_use]
    pub fn watching(self, domain: u32, chain: &DevChain) -> Self {
        self.lock().chains.push((domain, chain.clone()));
        self
    }

    /// Attests a message that another node has logged: `MessageSent` in this transaction of a CCTP
    /// domain, at this place in its block.
    pub fn record(&self, domain: u32, transaction: B256, log_index: u64, message: Bytes) {
        let recorded = (domain, transaction, log_index, message);
        self.lock().recorded.push(recorded);
    }

    /// Answers the first requests for each transaction with 404, as before it is indexed.
    pub fn miss_first(&self, requests: u32) {
        self.lock().missing = requests;
    }

    /// Answers the next requests for each transaction with `pending_confirmations`.
    pub fn pend_first(&self, requests: u32) {
        self.lock().pending = requests;
    }

    /// Answers the next requests of any kind with this HTTP status.
    pub fn fail_next(&self, requests: usize, status: u16) {
        self.lock().failing = vec![status; requests];
    }

    /// The fee of fast transfers in hundredths of a basis point; by default 130.
    pub fn set_fast_fee(&self, hundredths: u64) {
        self.lock().fee_hundredths = hundredths;
    }

    /// Writes this fee into attested messages, whatever the burn allows; `None` for the right one.
    pub fn set_fee_executed(&self, fee: Option<U256>) {
        self.lock().fee = fee;
    }

    /// Writes this recipient into attested messages; `None` for the right one.
    pub fn set_recipient(&self, recipient: Option<Address>) {
        self.lock().recipient = recipient;
    }

    /// The block of the destination at which a fast attestation expires; zero for never.
    pub fn set_expiration_block(&self, block: u64) {
        self.lock().expiration_block = block;
    }

    /// The answer to a request for this path and query; `None` for an unknown path.
    #[must_use]
    pub fn answer(&self, method: &str, path_and_query: &str) -> Option<IrisReply> {
        api::answer(&mut self.lock(), method, path_and_query)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The burns of a transaction, in the order of their logs.
    fn burns(&self, domain: u32, transaction: B256) -> Vec<Burn> {
        let chains = self.chains.iter().filter(|(known, _)| *known == domain);
        let logged = chains.flat_map(|(_, chain)| chain.sent_messages(transaction));
        let recorded = self.recorded.iter();
        let recorded = recorded
            .filter(|(known, sent, ..)| (*known, *sent) == (domain, transaction))
            .map(|(_, _, index, message)| (*index, message.clone()));
        logged
            .chain(recorded)
            .filter_map(|(index, message)| Burn::read(transaction, index, message.to_vec()))
            .collect()
    }
}
