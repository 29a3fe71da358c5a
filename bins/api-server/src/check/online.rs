//! `check-config --online`: compares a configuration with its stores, the facilitator, the nodes,
//! the signer, the custodian and the clock. It only reads. A finding says what was observed, and
//! repeats no secret.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use custody::CustodyError;
use custody_turnkey::{TurnkeyConfig, TurnkeyCustody};
use secrecy::SecretString;
use server_config::{Finding, Verdict};
use settlement::{AnySettler, Cause, ChainReader, Readiness, SettlementError, Settler, Timeouts};
use storage::Migration;
use tx_sender::{TransactionSigner as _, Web3Signer};
use x402_wire::{Network, Terms};

use crate::config::{Config, SettlementMode};
use crate::serve::{Stores, VersionError, settlement_config};

/// The allowed difference between the machine's clock and the newest block, in seconds.
const CLOCK_TOLERANCE_SECONDS: u64 = 30;

/// How long to wait for a newer block. A chain that is in use makes one in less time.
const NEXT_BLOCK: Duration = Duration::from_secs(5);

/// Asks every party that the configuration names, in the order of the sections.
pub(crate) async fn ask(config: &Config, terms: &Terms) -> Vec<Finding> {
    let timeouts = settlement_config(config).timeouts;
    let mut findings = Vec::new();
    findings.extend(tables(config).await);
    if let Some(url) = &config.settlement.rpc_url {
        let url = SecretString::from(url.clone());
        findings.extend(node(&url, terms, timeouts).await);
    }
    findings.push(settler(config, terms).await);
    if let Some(signer) = config.settlement.web3signer() {
        findings.push(web3signer(&signer).await);
    }
    if let Some(turnkey) = config.custody.as_ref().and_then(|it| it.turnkey()) {
        findings.push(custody(&turnkey).await);
    }
    for (id, table) in &config.chains.0 {
        // Loading the configuration has checked the id.
        let Ok(chain_id) = id.parse() else { continue };
        let nothing_paid = Terms {
            network: Network::evm(chain_id),
            assets: Vec::new(),
            ..terms.clone()
        };
        for (index, url) in table.rpc_urls.iter().enumerate() {
            let key = format!("chains.{id}.rpc_urls[{index}]");
            let url = SecretString::from(url.clone());
            findings.push(chain_id_of(key, &url, &nothing_paid, timeouts).await);
        }
    }
    findings
}

/// Compares the versions of the stores' tables with those that this program needs.
async fn tables(config: &Config) -> Vec<Finding> {
    let finding = |(verdict, said)| Finding {
        key: "storage.url".to_owned(),
        verdict,
        said,
    };
    match Stores::at(config) {
        Ok(stores) => {
            let pending = stores.pending().await;
            pending.into_iter().map(version).map(finding).collect()
        }
        Err(error) => vec![finding((Verdict::Contradicts, error.to_string()))],
    }
}

/// Says what a start does to the tables of one store.
fn version(pending: Result<Migration, VersionError>) -> (Verdict, String) {
    match pending {
        Ok(migration) => (Verdict::Agrees, migration.to_string()),
        Err(error) if error.is_of_content() => (Verdict::Contradicts, error.to_string()),
        Err(error) => (Verdict::Unreached, error.to_string()),
    }
}

/// Asks the payment chain's node for its chain id, the tokens and the time. The tokens and the time
/// are checked only if the chain id is right.
async fn node(url: &SecretString, terms: &Terms, timeouts: Timeouts) -> Vec<Finding> {
    let without_assets = Terms {
        assets: Vec::new(),
        ..terms.clone()
    };
    let key = "settlement.rpc_url";
    let chain = chain_id_of(key.to_owned(), url, &without_assets, timeouts).await;
    if chain.verdict != Verdict::Agrees {
        return vec![chain];
    }
    let mut findings = vec![chain];
    for (index, asset) in terms.assets.iter().enumerate() {
        let one = Terms {
            assets: vec![asset.clone()],
            ..terms.clone()
        };
        let said = format!(
            "{} is {:?}, version {:?}",
            asset.address, asset.name, asset.version
        );
        let key = format!("payment.assets[{index}]");
        findings.push(confirmed(key, said, url, &one, timeouts).await);
    }
    findings.push(clock(url, &without_assets, timeouts).await);
    findings
}

async fn chain_id_of(
    key: String,
    url: &SecretString,
    terms: &Terms,
    timeouts: Timeouts,
) -> Finding {
    let said = format!("serves chain {}", terms.network.chain_id());
    confirmed(key, said, url, terms, timeouts).await
}

/// Whether a node confirms the network and the assets of the terms.
async fn confirmed(
    key: String,
    said: String,
    url: &SecretString,
    terms: &Terms,
    timeouts: Timeouts,
) -> Finding {
    let asked = async {
        let reader = ChainReader::new(url, terms, timeouts, Default::default())?;
        Ok(reader.confirm().await)
    };
    match asked.await {
        Ok(Ok(())) => Finding {
            key,
            verdict: Verdict::Agrees,
            said,
        },
        Ok(Err(cause)) => failed(key, &cause),
        Err(error) => unusable(key, &error),
    }
}

/// Compares the machine's clock with the newest block.
async fn clock(url: &SecretString, terms: &Terms, timeouts: Timeouts) -> Finding {
    let key = "clock".to_owned();
    let reader = match ChainReader::new(url, terms, timeouts, Default::default()) {
        Ok(reader) => reader,
        Err(error) => return unusable(key, &error),
    };
    let asked = async {
        let (machine, block) = (machine_seconds(), reader.head_time().await?);
        if machine <= block.saturating_add(CLOCK_TOLERANCE_SECONDS) {
            return Ok(clocks(key.clone(), machine, block));
        }
        // An old block means that the clock is wrong, or that the chain is idle and makes no
        // blocks.
        tokio::time::sleep(NEXT_BLOCK).await;
        let next = reader.head_time().await?;
        Ok(match next == block {
            true => idle(key.clone(), machine.saturating_sub(block)),
            false => clocks(key.clone(), machine_seconds(), next),
        })
    };
    match asked.await {
        Ok(finding) => finding,
        Err(cause) => failed(key, &cause),
    }
}

/// The finding for an idle chain, which says nothing about the clock.
fn idle(key: String, seconds: u64) -> Finding {
    Finding {
        key,
        verdict: Verdict::Unreached,
        said: format!(
            "the chain has made no block for {seconds} s by this machine's clock and makes none now, so it cannot tell \
             whether the clock is right"
        ),
    }
}

fn clocks(key: String, machine: u64, block: u64) -> Finding {
    let apart = machine.abs_diff(block);
    let side = if block > machine {
        "behind"
    } else {
        "ahead of"
    };
    Finding {
        key,
        verdict: if apart > CLOCK_TOLERANCE_SECONDS {
            Verdict::Contradicts
        } else {
            Verdict::Agrees
        },
        said: format!(
            "this machine is {apart} s {side} the newest block (at most {CLOCK_TOLERANCE_SECONDS})"
        ),
    }
}

/// Asks the facilitator or the broker, or checks the account that pays the gas.
async fn settler(config: &Config, terms: &Terms) -> Finding {
    let key = match config.settlement.mode {
        SettlementMode::Facilitator => "settlement.facilitator_url",
        SettlementMode::Okx => "settlement.okx_base_url",
        SettlementMode::Onchain => "settlement.private_key",
    };
    let mut section = settlement_config(config);
    if config.settlement.mode != SettlementMode::Onchain {
        // Other lines report the node.
        section.rpc_url = None;
    }
    let key = key.to_owned();
    let settler = match AnySettler::connect(section, terms).await {
        Ok(settler) => settler,
        Err(error) => return unusable(key, &error),
    };
    match settler.readiness().await {
        Readiness::Ready { aggr_deferred, .. } => Finding {
            key,
            verdict: Verdict::Agrees,
            said: if aggr_deferred {
                "settles exact and aggr_deferred".to_owned()
            } else {
                "settles exact; payments with aggr_deferred will be refused".to_owned()
            },
        },
        Readiness::NotReady { reason } => failed(key, &reason),
    }
}

/// Whether the Web3Signer instance holds the key of the account that pays the gas.
async fn web3signer(signer: &Web3Signer) -> Finding {
    let account = signer.account();
    let (verdict, said) = match signer.accounts().await {
        Ok(accounts) if accounts.contains(&account) => {
            (Verdict::Agrees, format!("signs for {account}"))
        }
        Ok(accounts) => (
            Verdict::Contradicts,
            format!(
                "expected the key of {account}, observed {} other accounts",
                accounts.len()
            ),
        ),
        // The instance's own message may repeat a key of its URL.
        Err(error) => (Verdict::Unreached, error.code().to_owned()),
    };
    Finding {
        key: "settlement.web3signer_url".to_owned(),
        verdict,
        said,
    }
}

/// Asks Turnkey for the user and organisation of the API key.
async fn custody(config: &TurnkeyConfig) -> Finding {
    let expected = &config.organization_id;
    let asked = async {
        let custody = TurnkeyCustody::connect(config).map_err(|fault| {
            let said = fault.to_string();
            (Verdict::Contradicts, said)
        })?;
        custody.whoami().await.map_err(|error| match error {
            // Turnkey does not know the key, or not in this organisation. Its message is not
            // repeated.
            CustodyError::ProviderRefused { .. } => (Verdict::Contradicts, error.to_string()),
            _ => (Verdict::Unreached, error.to_string()),
        })
    };
    let (verdict, said) = match asked.await {
        Ok(identity) if identity.organization_id == *expected => (
            Verdict::Agrees,
            format!(
                "the API key is {:?} of {:?}",
                identity.username, identity.organization_name
            ),
        ),
        Ok(identity) => (
            Verdict::Contradicts,
            format!(
                "expected {expected}, observed {:?}",
                identity.organization_id
            ),
        ),
        Err(failed) => failed,
    };
    Finding {
        key: "custody.organization_id".to_owned(),
        verdict,
        said,
    }
}

/// The finding for a failed request.
fn failed(key: String, cause: &Cause) -> Finding {
    let verdict = match cause {
        Cause::Chain { .. }
        | Cause::Asset(_)
        | Cause::NoGas { .. }
        | Cause::ExactUnsupported { .. }
        | Cause::Broker { .. } => Verdict::Contradicts,
        _ => Verdict::Unreached,
    };
    // Some nodes repeat an unknown key in their message.
    let said = match cause {
        Cause::Rpc { call, code, .. } => format!("{call}: the node refused with code {code}"),
        other => other.to_string(),
    };
    Finding { key, verdict, said }
}

/// The finding for a settler that cannot be set up or whose chain contradicts it.
fn unusable(key: String, error: &SettlementError) -> Finding {
    Finding {
        key,
        verdict: Verdict::Contradicts,
        said: error.to_string(),
    }
}

fn machine_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use settlement::RemoteCall;

    use super::*;

    #[test]
    fn clocks_may_be_half_a_minute_apart() {
        for (machine, block, verdict, said) in [
            (1000, 1000, Verdict::Agrees, "0 s ahead of"),
            (1030, 1000, Verdict::Agrees, "30 s ahead of"),
            (1031, 1000, Verdict::Contradicts, "31 s ahead of"),
            (1000, 1031, Verdict::Contradicts, "31 s behind"),
        ] {
            let finding = clocks("clock".to_owned(), machine, block);
            assert_eq!(finding.verdict, verdict, "{finding}");
            assert!(finding.said.contains(said), "{finding}");
        }
    }

    #[test]
    fn a_node_s_message_is_not_repeated_because_it_may_hold_a_key() {
        let refused = Cause::Rpc {
            call: RemoteCall::Rpc("eth_chainId"),
            code: -32_000,
            message: "unknown key 5ec2e7".to_owned(),
        };
        let finding = failed("settlement.rpc_url".to_owned(), &refused);
        assert_eq!(
            finding.to_string(),
            "settlement.rpc_url: not reached: eth_chainId: the node refused with code -32000"
        );
    }
}
