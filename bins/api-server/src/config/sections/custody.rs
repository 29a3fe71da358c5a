//! `[custody]` and `[wallets]`: who holds the keys of sub-wallets, and what the wallets may do.

use std::path::{Path, PathBuf};

use custody::Bounds;
use custody_turnkey::TurnkeyConfig;
use secrecy::SecretString;
use serde::Deserialize;
use server_config::{lenient, read_secret_file};

use super::{Usd, problem};
use crate::config::Problem;

/// `[custody]`: the custodian of sub-wallets' keys. Without the section there are no sub-wallets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustodySection {
    /// The kind of custodian.
    pub provider: CustodyProvider,
    /// The folder of the wallets' files (`local`).
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// The operator's secret, which encrypts the wallets' files (`local`).
    #[serde(default)]
    pub secret: Option<SecretString>,
    /// The file that holds the secret.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// The URL of Turnkey's API (`turnkey`).
    #[serde(default)]
    pub base_url: Option<String>,
    /// The organisation that holds the keys (`turnkey`).
    #[serde(default)]
    pub organization_id: Option<String>,
    /// The public half of the API key that stamps requests (`turnkey`).
    #[serde(default)]
    pub api_public_key: Option<String>,
    /// The private half of the API key (`turnkey`).
    #[serde(default)]
    pub api_private_key: Option<SecretString>,
    /// The file that holds the private half.
    #[serde(default)]
    pub api_private_key_file: Option<PathBuf>,
    /// The most sub-wallets that may exist. Without it, a number below the provider's own limit.
    #[serde(default, deserialize_with = "lenient::optional_scalar")]
    pub max_wallets: Option<u32>,
    /// The most sub-wallets that may be made within an hour.
    #[serde(default = "new_wallets_per_hour", deserialize_with = "lenient::scalar")]
    pub new_wallets_per_hour: u32,
}

/// The most wallets in the files of one machine, unless the operator sets another number.
const MOST_LOCAL: u32 = 100_000;

/// The most wallets at Turnkey, unless the operator sets another number. An organisation has at
/// most 1,000 private keys, and other keys than wallets' count as well.
const MOST_TURNKEY: u32 = 900;

const fn new_wallets_per_hour() -> u32 {
    600
}

/// A kind of custodian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CustodyProvider {
    /// This process, in encrypted files. It is not a trusted execution environment.
    Local,
    /// Turnkey, in its enclaves.
    Turnkey,
}

impl CustodySection {
    /// The provider `local` with this folder and secret.
    #[must_use]
    pub fn local(directory: PathBuf, secret: SecretString) -> Self {
        Self {
            directory: Some(directory),
            secret: Some(secret),
            ..Self::of(CustodyProvider::Local)
        }
    }

    /// A provider with no other key set.
    const fn of(provider: CustodyProvider) -> Self {
        Self {
            provider,
            directory: None,
            secret: None,
            secret_file: None,
            base_url: None,
            organization_id: None,
            api_public_key: None,
            api_private_key: None,
            api_private_key_file: None,
            max_wallets: None,
            new_wallets_per_hour: new_wallets_per_hour(),
        }
    }

    /// The most wallets, in all and within an hour.
    pub(crate) fn bounds(&self) -> Bounds {
        let most = self.max_wallets.unwrap_or(match self.provider {
            CustodyProvider::Local => MOST_LOCAL,
            CustodyProvider::Turnkey => MOST_TURNKEY,
        });
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Bounds {
            most: number(most),
            new_per_hour: number(self.new_wallets_per_hour),
        }
    }

    /// The settings for Turnkey, if it is the provider and all of them are set.
    pub(crate) fn turnkey(&self) -> Option<TurnkeyConfig> {
        if self.provider != CustodyProvider::Turnkey {
            return None;
        }
        let base_url = self.base_url.as_deref();
        Some(TurnkeyConfig {
            base_url: base_url.unwrap_or(TurnkeyConfig::BASE_URL).to_owned(),
            organization_id: self.organization_id.clone()?,
            api_public_key: self.api_public_key.clone()?,
            api_private_key: self.api_private_key.clone()?,
        })
    }

    pub(crate) fn read_secret_files(&mut self, problems: &mut Vec<Problem>) {
        let file = self.secret_file.as_deref();
        read_secret_file("custody.secret", &mut self.secret, file, problems);
        let file = self.api_private_key_file.as_deref();
        let key = &mut self.api_private_key;
        read_secret_file("custody.api_private_key", key, file, problems);
    }

    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        for (key, most) in [
            ("custody.max_wallets", self.max_wallets),
            (
                "custody.new_wallets_per_hour",
                Some(self.new_wallets_per_hour),
            ),
        ] {
            if most == Some(0) {
                problem(problems, key, "expected at least 1");
            }
        }
        match self.provider {
            CustodyProvider::Local => self.check_local(problems),
            CustodyProvider::Turnkey => self.check_turnkey(problems),
        }
    }

    fn check_turnkey(&self, problems: &mut Vec<Problem>) {
        let foreign = [
            ("custody.directory", self.directory.is_some()),
            ("custody.secret", self.secret.is_some()),
        ];
        refuse(problems, foreign, "is for the provider \"local\"");
        let key = self.api_private_key.is_some() || self.api_private_key_file.is_some();
        for (name, is_there) in [
            ("custody.organization_id", self.organization_id.is_some()),
            ("custody.api_public_key", self.api_public_key.is_some()),
            ("custody.api_private_key_file", key),
        ] {
            if !is_there {
                let message = "is missing: Turnkey identifies this server by its organisation and API key \
                               (SVC__CUSTODY__API_PRIVATE_KEY in the place of the file)";
                problem(problems, name, message);
            }
        }
        if let Some(config) = self.turnkey()
            && let Err(fault) = config.check()
        {
            let key = format!("custody.{}", fault.member());
            problem(problems, &key, fault.to_string());
        }
    }

    fn check_local(&self, problems: &mut Vec<Problem>) {
        let foreign = [
            ("custody.base_url", self.base_url.is_some()),
            ("custody.organization_id", self.organization_id.is_some()),
            ("custody.api_public_key", self.api_public_key.is_some()),
            ("custody.api_private_key", self.api_private_key.is_some()),
        ];
        refuse(problems, foreign, "is for the provider \"turnkey\"");
        if self.directory.is_none() {
            let message = "is missing: expected the folder for the wallets' files";
            problem(problems, "custody.directory", message);
        }
        if self.secret.is_none() && self.secret_file.is_none() {
            let message = "is missing: set SVC__CUSTODY__SECRET or custody.secret_file; \
                           the wallets' files are encrypted under it";
            problem(problems, "custody.secret_file", message);
        }
    }
}

/// Reports keys that belong to another provider, because no setting is ignored silently.
fn refuse<const N: usize>(
    problems: &mut Vec<Problem>,
    keys: [(&str, bool); N],
    message: &'static str,
) {
    for (key, _) in keys.into_iter().filter(|(_, is_there)| *is_there) {
        problem(problems, key, message);
    }
}

/// The highest daily limit that a configuration may set for the gas account.
const MOST_TOPUPS: Usd = Usd::whole(10_000);

/// `[wallets]`: the actions of sub-wallets, and who pays their gas.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WalletsSection {
    /// The chains whose balances a sub-wallet's answer shows.
    #[serde(deserialize_with = "lenient::list")]
    pub chains: Vec<u64>,
    /// The reviewed contracts and functions that wallets' keys may call. A relative path is
    /// relative to the folder of the configuration file.
    pub reviewed: Option<PathBuf>,
    /// The key of the account that tops up sub-wallets for gas. Without one they pay from their own
    /// balance.
    pub gas_account_key: Option<SecretString>,
    /// The file that holds the key.
    pub gas_account_key_file: Option<PathBuf>,
    /// The largest top-up for one plan, in wei.
    #[serde(deserialize_with = "lenient::scalar")]
    pub gas_topup_most_wei: u64,
    /// The largest sum of top-ups for one owner's plans in a day.
    pub gas_topup_budget_usd: Usd,
    /// The largest sum of top-ups for all plans in a day.
    pub gas_topup_total_usd: Usd,
    /// The largest sum of top-ups for all plans on one chain in a day, in wei. It holds whatever
    /// the prices are.
    #[serde(deserialize_with = "lenient::scalar")]
    pub gas_topup_total_wei: u64,
    /// The most moves a day that a mandate may allow itself.
    #[serde(deserialize_with = "lenient::scalar")]
    pub max_moves_per_day: u32,
    /// The fewest dollars that a mandate may demand of a move as its gain.
    pub min_gain_usd: Usd,
}

impl Default for WalletsSection {
    fn default() -> Self {
        Self {
            chains: vec![196, 8453],
            reviewed: None,
            gas_account_key: None,
            gas_account_key_file: None,
            gas_topup_most_wei: 500_000_000_000_000,
            gas_topup_budget_usd: Usd::whole(2),
            gas_topup_total_usd: Usd::whole(50),
            gas_topup_total_wei: 20_000_000_000_000_000,
            max_moves_per_day: yield_watch::MAX_MOVES,
            min_gain_usd: Usd::whole(0),
        }
    }
}

impl WalletsSection {
    pub(in crate::config) fn resolve(&mut self, folder: &Path) {
        if let Some(reviewed) = &mut self.reviewed {
            *reviewed = folder.join(&reviewed);
        }
    }

    pub(crate) fn read_secret_files(&mut self, problems: &mut Vec<Problem>) {
        let file = self.gas_account_key_file.as_deref();
        let key = &mut self.gas_account_key;
        read_secret_file("wallets.gas_account_key", key, file, problems);
    }

    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        let known = route_catalog::WALLET_CHAINS.iter().map(|chain| chain.id);
        let known: Vec<u64> = known.collect();
        for chain in &self.chains {
            if !known.contains(chain) {
                let message =
                    format!("{chain} is not a chain of sub-wallets: expected some of {known:?}");
                problem(problems, "wallets.chains", message);
            }
        }
        if self.gas_topup_total_usd > MOST_TOPUPS {
            let message = "expected at most 10000: a key on a server should not be able to spend more in a day";
            problem(problems, "wallets.gas_topup_total_usd", message);
        }
        if self.gas_topup_budget_usd > self.gas_topup_total_usd {
            let message = "expected at most gas_topup_total_usd: one owner cannot get more than all owners together";
            problem(problems, "wallets.gas_topup_budget_usd", message);
        }
        if self.gas_topup_most_wei > self.gas_topup_total_wei {
            let message = "expected at least gas_topup_most_wei: one top-up cannot be more than all on its chain";
            problem(problems, "wallets.gas_topup_total_wei", message);
        }
        if !(1..=yield_watch::MAX_MOVES).contains(&self.max_moves_per_day) {
            let message = format!("expected 1 to {}", yield_watch::MAX_MOVES);
            problem(problems, "wallets.max_moves_per_day", message);
        }
        if let Some(key) = &self.gas_account_key
            && tx_sender::LocalKey::from_hex(key).is_err()
        {
            let message = "expected a private key of 32 bytes as hexadecimal digits";
            problem(problems, "wallets.gas_account_key", message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(section: &CustodySection) -> Vec<String> {
        let mut problems = Vec::new();
        section.check(&mut problems);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_provider_has_its_own_keys() {
        let local = CustodySection::local("wallets".into(), "secret".into());
        assert_eq!(found(&local), [""; 0]);
        let turnkey = CustodySection {
            organization_id: Some("0a1b2c3d-0000-4000-8000-000000000001".to_owned()),
            api_public_key: Some(
                "0351a7580833898ea1b183cbd7350a4099078c6ef1c1e18e970cd7683035f25e7d".to_owned(),
            ),
            api_private_key: Some("33".repeat(32).into()),
            ..CustodySection::of(CustodyProvider::Turnkey)
        };
        assert_eq!(found(&turnkey), [""; 0]);
        assert!(turnkey.turnkey().is_some() && local.turnkey().is_none());
        let cases = [
            (
                CustodySection::of(CustodyProvider::Local),
                vec![
                    "custody.directory: is missing",
                    "custody.secret_file: is missing",
                ],
            ),
            (
                CustodySection::of(CustodyProvider::Turnkey),
                vec![
                    "custody.organization_id: ",
                    "custody.api_public_key: ",
                    "custody.api_private_key_file: ",
                ],
            ),
            (
                CustodySection {
                    base_url: Some("https://a".to_owned()),
                    ..local
                },
                vec!["custody.base_url: is for the provider \"turnkey\""],
            ),
            (
                CustodySection {
                    directory: Some("wallets".into()),
                    ..turnkey.clone()
                },
                vec!["custody.directory: is for the provider \"local\""],
            ),
            (
                CustodySection {
                    base_url: Some("http://api.turnkey.com".to_owned()),
                    ..turnkey.clone()
                },
                vec!["custody.base_url: expected an https URL"],
            ),
            (
                CustodySection {
                    organization_id: Some("acme".to_owned()),
                    ..turnkey.clone()
                },
                vec!["custody.organization_id: expected the organisation's id"],
            ),
            (
                CustodySection {
                    api_private_key: Some("44".repeat(32).into()),
                    ..turnkey
                },
                vec!["custody.api_private_key: the private key belongs to another public key"],
            ),
        ];
        for (section, expected) in cases {
            let found = found(&section);
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.starts_with(expected), "{found}");
            }
        }
    }

    #[test]
    fn the_gas_account_has_limits() {
        for (of_owner, of_all, of_chain, key) in [
            (2, 50, 500, None),
            (50, 50, 501, None),
            (10_000, 10_000, u64::MAX, None),
            (51, 50, 500, Some("wallets.gas_topup_budget_usd")),
            (2, 10_001, 500, Some("wallets.gas_topup_total_usd")),
            (2, 50, 499, Some("wallets.gas_topup_total_wei")),
        ] {
            let section = WalletsSection {
                gas_topup_most_wei: 500,
                gas_topup_total_wei: of_chain,
                gas_topup_budget_usd: Usd::whole(of_owner),
                gas_topup_total_usd: Usd::whole(of_all),
                ..WalletsSection::default()
            };
            let mut problems = Vec::new();
            section.check(&mut problems);
            let found: Vec<String> = problems.iter().map(|it| format!("{it:?}")).collect();
            assert_eq!(found.len(), usize::from(key.is_some()), "{found:?}");
            assert!(
                found.concat().contains(key.unwrap_or_default()),
                "{found:?}"
            );
        }
    }
}
