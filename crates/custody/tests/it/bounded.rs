//! A provider under bounds.

use alloy_primitives::{Address, U256};
use custody::{Bounded, Bounds, Custody as _, CustodyError, Owner};

use crate::{SECRET, open};

fn owner(number: u64) -> Owner {
    Owner::new(196, Address::from_word(U256::from(number + 1).into()))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_wallet_is_made_beyond_the_bounds_and_those_that_exist_stay_usable() {
    let folder = tempfile::tempdir().unwrap();
    let other = open(&folder, SECRET).unwrap();
    let first = other.get_or_create(owner(0)).await.unwrap();
    let bounds = Bounds {
        most: 3,
        new_per_hour: 100,
    };
    let custody = Bounded::new(open(&folder, SECRET).unwrap(), bounds);
    // The other process's wallet counts.
    let second = custody.get_or_create(owner(1)).await.unwrap();
    custody.get_or_create(owner(2)).await.unwrap();
    let full = Err(CustodyError::WalletsFull { most: 3 });
    assert_eq!(custody.get_or_create(owner(3)).await, full);
    assert_eq!(custody.find(owner(3)).await, Ok(None));
    for wallet in [first, second] {
        assert_eq!(custody.get_or_create(wallet.owner).await, Ok(wallet));
        assert_eq!(custody.wallet_at(wallet.address).await, Ok(Some(wallet)));
    }
    assert_eq!(other.owners().await.unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hour_has_a_bound_too() {
    let folder = tempfile::tempdir().unwrap();
    let bounds = Bounds {
        most: 100,
        new_per_hour: 2,
    };
    let custody = Bounded::new(open(&folder, SECRET).unwrap(), bounds);
    for number in 0..2 {
        custody.get_or_create(owner(number)).await.unwrap();
    }
    let refused = custody.get_or_create(owner(2)).await.unwrap_err();
    let CustodyError::TooManyNewWallets {
        most,
        retry_after_seconds,
    } = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(most, 2);
    assert!((3_500..=3_600).contains(&retry_after_seconds));
    // A restart does not begin another hour.
    let again = Bounded::new(open(&folder, SECRET).unwrap(), bounds);
    let refused = again.get_or_create(owner(2)).await.unwrap_err();
    assert_eq!(refused.code(), "too_many_new_wallets");
}

/// Requests at the same time do not pass the bounds together.
#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_at_once_stays_within_the_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let bounds = Bounds {
        most: 5,
        new_per_hour: 100,
    };
    let custody = std::sync::Arc::new(Bounded::new(open(&folder, SECRET).unwrap(), bounds));
    let crowd: Vec<_> = (0..60)
        .map(|number| {
            let custody = std::sync::Arc::clone(&custody);
            tokio::spawn(async move { custody.get_or_create(owner(number)).await })
        })
        .collect();
    for task in crowd {
        let made = task.await.unwrap();
        assert!(
            made.is_ok() || made == Err(CustodyError::WalletsFull { most: 5 }),
            "{made:?}"
        );
    }
    let owners = open(&folder, SECRET).unwrap().owners().await.unwrap();
    assert!((1..=5).contains(&owners.len()), "{owners:?}");
}
