//! The configuration of a settlement: the kind of settler, its service or key, and how the chain is
//! read.

use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;
use tx_sender::{Options, Store, TransactionSigner};

use crate::{ChainOptions, GasPolicy, Mode, OkxCredentials, Timeouts};

/// The table `[settlement]` of the configuration, with its secrets.
#[derive(Clone, Default)]
pub struct SettlementConfig {
    /// The kind of settler.
    pub mode: Mode,
    /// The base URL of the facilitator, for mode `facilitator`.
    pub facilitator_url: Option<String>,
    /// The base URL of the broker, for mode `okx`. When absent, `https://web3.okx.com`.
    pub okx_base_url: Option<String>,
    /// The API credentials of the broker, for mode `okx`.
    pub okx: Option<OkxCredentials>,
    /// A JSON-RPC endpoint. Mode `onchain` requires it; every mode uses it to read the chain. It
    /// may hold a key, so it is never printed.
    pub rpc_url: Option<SecretString>,
    /// Further endpoints, which are used only together with [`rpc_url`](Self::rpc_url). They are
    /// asked when the first one does not answer. Questions that decide about money go to all
    /// endpoints.
    pub more_rpc_urls: Vec<SecretString>,
    /// The key that pays the gas in mode `onchain`: 32 bytes as hexadecimal digits.
    pub private_key: Option<SecretString>,
    /// The signer of the account that pays the gas in mode `onchain`. It replaces `private_key`.
    pub signer: Option<Arc<dyn TransactionSigner>>,
    /// The time limits.
    pub timeouts: Timeouts,
    /// The limits of a settlement's cost in mode `onchain`.
    pub gas: GasPolicy,
    /// The store of our own transactions in mode `onchain`. Without one they are recorded in
    /// memory. When the process then ends, only the chain shows a transaction that was pending.
    pub records: Option<Arc<dyn Store>>,
    /// How the lane of the account in the records is leased, for mode `onchain`. When only this
    /// process uses the records, it may take the lane over at once.
    pub sender: Options,
    /// How the chain is read.
    pub chain: ChainOptions,
}

/// Leaves out the URLs and the secrets.
impl fmt::Debug for SettlementConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettlementConfig")
            .field("mode", &self.mode)
            .field("timeouts", &self.timeouts)
            .field("gas", &self.gas)
            .field("chain", &self.chain)
            .finish_non_exhaustive()
    }
}
