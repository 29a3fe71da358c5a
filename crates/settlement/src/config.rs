//! The configuration of a settlement.

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
    /// Mode `facilitator`: its base URL.
    pub facilitator_url: Option<String>,
    /// Mode `okx`: the broker's base URL; `https://web3.okx.com` when absent.
    pub okx_base_url: Option<String>,
    /// Mode `okx`: the API credentials.
    pub okx: Option<OkxCredentials>,
    /// A JSON-RPC endpoint; required by mode `onchain`, and used by every mode to read the chain.
    /// May hold a key, so it is never printed.
    pub rpc_url: Option<SecretString>,
    /// Further endpoints. They are asked when the first one does not answer, and together with it
    /// about decisions. They are used only with [`rpc_url`](Self::rpc_url).
    pub more_rpc_urls: Vec<SecretString>,
    /// Mode `onchain`: the key that pays the gas, 32 bytes as hexadecimal digits.
    pub private_key: Option<SecretString>,
    /// Mode `onchain`: the signer of the account that pays the gas, instead of `private_key`.
    pub signer: Option<Arc<dyn TransactionSigner>>,
    /// The time limits.
    pub timeouts: Timeouts,
    /// Mode `onchain`: the limits of a settlement's cost.
    pub gas: GasPolicy,
    /// Mode `onchain`: the store of our own transactions. Without it they are recorded in memory,
    /// and a transaction that is pending when the process ends is found on the chain only.
    pub records: Option<Arc<dyn Store>>,
    /// Mode `onchain`: how the account's lane in the records is leased. The lane may be taken over
    /// at once where only this process uses the records.
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
