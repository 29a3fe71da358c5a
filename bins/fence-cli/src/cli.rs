//! The command line.

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use fence_offline::{grant, key, limit, log, onchain, order, plan, policy, revoke};

/// Permit, review and end: signs permissions offline and verifies plans before anything is signed.
///
/// No command opens a socket, but for those that are marked (network): `submit`, `revoke confirm`,
/// `revoke now`, `status`, `log fetch`, `onchain read-back` and `onchain clear-allowance`.
#[derive(Debug, Parser)]
#[command(name = "fence-cli", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

pub(crate) const EXIT_CODES: &str = "Exit codes: 0 ok, 1 refused (by name), 2 usage, 3 a file, key file or password cannot be used, \
    4 network or server, 5 not confirmed by reading back";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The rules that a permission is bound to
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Permit: write, sign, look at and submit a grant
    Grant {
        #[command(subcommand)]
        command: GrantCommand,
    },
    /// End a permission, for ever
    Revoke {
        #[command(subcommand)]
        command: RevokeCommand,
    },
    /// Make a grant tighter, at once
    Limit {
        #[command(subcommand)]
        command: LimitCommand,
    },
    /// Order one plan to be sent, once: for the grant's delegate
    Order {
        #[command(subcommand)]
        command: OrderCommand,
    },
    /// The fence on the chain, for accounts with delegation code (eoa7702): experimental
    Onchain {
        #[command(subcommand)]
        command: OnchainCommand,
    },
    /// Read back the service's fence, or one grant (network)
    #[command(after_help = EXIT_CODES)]
    Status(fence_online::Status),
    /// The log of a grant
    Log {
        #[command(subcommand)]
        command: LogCommand,
    },
    /// Read and judge plans
    Plan {
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// Key files
    Key {
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page
    Man,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Describe what a policy permits, and whether it is the pinned one
    Show(policy::OfPolicy),
    /// Print the digest
    Digest(policy::OfPolicy),
    /// List rules that the author should reconsider, and refuse a policy that no service would use
    #[command(after_help = EXIT_CODES)]
    Lint(policy::Lint),
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantCommand {
    /// Write a grant, to be signed here or by a wallet
    #[command(after_help = EXIT_CODES)]
    New(grant::New),
    /// Sign a grant with a key file
    #[command(after_help = EXIT_CODES)]
    Sign(grant::Sign),
    /// Put the signature of a wallet beside a grant
    #[command(after_help = EXIT_CODES)]
    Attach(grant::Attach),
    /// Describe what a file permits or ends; judges nothing
    #[command(after_help = EXIT_CODES)]
    Inspect(grant::Inspect),
    /// Judge a signed grant by the rules of the service
    #[command(after_help = EXIT_CODES)]
    Verify(grant::Verify),
    /// Give a signed grant to the service (network)
    #[command(after_help = EXIT_CODES)]
    Submit(fence_online::SubmitGrant),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RevokeCommand {
    /// Sign, submit and confirm in one go (network)
    #[command(after_help = EXIT_CODES)]
    Now(fence_online::RevokeNow),
    /// Write a revocation, to be signed here or by a wallet
    #[command(after_help = EXIT_CODES)]
    New(revoke::New),
    /// Sign a revocation with a key file
    #[command(after_help = EXIT_CODES)]
    Sign(revoke::Sign),
    /// Put the signature of a wallet beside a revocation
    #[command(after_help = EXIT_CODES)]
    Attach(revoke::Attach),
    /// Give a signed revocation to the service (network)
    #[command(after_help = EXIT_CODES)]
    Submit(fence_online::SubmitRevocation),
    /// Ask until the grant reads back as revoked (network)
    #[command(after_help = EXIT_CODES)]
    Confirm(fence_online::Confirm),
}

#[derive(Debug, Subcommand)]
pub(crate) enum LimitCommand {
    /// Write a limit, to be signed here or by a wallet
    #[command(after_help = EXIT_CODES)]
    New(limit::New),
    /// Sign a limit with a key file
    #[command(after_help = EXIT_CODES)]
    Sign(limit::SignLimit),
    /// Put the signature of a wallet beside a limit
    #[command(after_help = EXIT_CODES)]
    Attach(limit::Attach),
    /// Give a signed limit to the service (network)
    #[command(after_help = EXIT_CODES)]
    Submit(fence_online::SubmitLimit),
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrderCommand {
    /// Verify a plan and write the order to send it
    #[command(after_help = EXIT_CODES)]
    New(order::New),
    /// Sign an order with the delegate's key file
    #[command(after_help = EXIT_CODES)]
    Sign(order::Sign),
    /// Put the signature of a wallet beside an order
    #[command(after_help = EXIT_CODES)]
    Attach(order::Attach),
    /// Give a signed order with its plan to the service, and wait for the plan's end (network)
    #[command(after_help = EXIT_CODES)]
    Submit(fence_online::SubmitOrder),
}

#[derive(Debug, Subcommand)]
pub(crate) enum OnchainCommand {
    /// Sign the delegations that a grant promises, and put them beside it
    #[command(after_help = EXIT_CODES)]
    Delegation(onchain::Delegate),
    /// Sign the authorization that gives an account its delegation code (EIP-7702), or takes it
    /// away
    #[command(name = "auth7702", after_help = EXIT_CODES)]
    Auth7702(onchain::Auth7702),
    /// Print the transaction that disables a grant's delegations
    #[command(after_help = EXIT_CODES)]
    Disable(onchain::Disable),
    /// Read in a sealed block whether they are disabled (network)
    #[command(after_help = EXIT_CODES)]
    ReadBack(fence_online::OnChain),
    /// Read the router's allowance in a sealed block, and print how to clear it (network)
    #[command(after_help = EXIT_CODES)]
    ClearAllowance(fence_online::OnChain),
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Read the whole log of a grant (network)
    #[command(after_help = EXIT_CODES)]
    Fetch(fence_online::FetchLog),
    /// Check that no record of a grant's log was changed, left out or moved
    #[command(after_help = EXIT_CODES)]
    Verify(log::Verify),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Say what a plan does, read from the bytes that would be signed; judges nothing
    #[command(after_help = EXIT_CODES)]
    Show(plan::Show),
    /// Judge a plan again: every check on its own bytes, its digest, its expiry, and that it
    /// answers this request
    #[command(after_help = EXIT_CODES)]
    Verify(plan::Verify),
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a new key
    New(key::New),
    /// Encrypt a private key that you have
    Import(key::Import),
    /// List the key files of a folder
    List(key::List),
    /// Say the address of a key file
    Address(key::Address),
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

impl Completions {
    pub(crate) fn print(&self) -> Vec<u8> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "fence-cli", &mut text);
        text
    }
}

/// The manual page of the tool, followed by that of each command.
pub(crate) fn manual() -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut command = Cli::command();
    command.build();
    page(&command, &mut text)?;
    Ok(text)
}

fn page(command: &clap::Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    let name = command.get_bin_name().unwrap_or("fence-cli");
    clap_mangen::Man::new(command.clone())
        .title(name.replace(' ', "-"))
        .render(text)?;
    let below = command
        .get_subcommands()
        .filter(|below| below.get_name() != "help");
    for command in below {
        page(command, text)?;
    }
    Ok(())
}
