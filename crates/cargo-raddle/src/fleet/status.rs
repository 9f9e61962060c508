//! `cargo raddle status`: how runs stand, by what the server has. No coordinator need be there.

use std::thread;
use std::time::Duration;

use raddle_fleet::nats::{Manifest, Nats, NatsQueue, Run};
use raddle_trace::exit;

use super::access::{connect, wrong};
use super::page::LivePage;
use super::standing::Standing;
use crate::cli::{self, Format};
use crate::error::DriverError;
use crate::os;
use crate::print;

/// From one look to the next.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) fn status(asked: &cli::Status) -> Result<u8, DriverError> {
    let nats = connect(&asked.server)?;
    let Some(name) = &asked.run else {
        let runs = Run::all(&nats).map_err(wrong)?;
        if runs.is_empty() && asked.format == Format::Human {
            print::out(&format!("there is no run at {}\n", nats.shown()));
        }
        for (name, manifest) in runs {
            say(&nats, &name, &manifest, asked.format)?;
        }
        return Ok(exit::PASSED);
    };
    let (run, manifest) = Run::find(&nats, name).map_err(wrong)?;
    if asked.remove {
        run.remove().map_err(wrong)?;
        print::out(&format!("{name} was removed\n"));
        return Ok(exit::PASSED);
    }
    let Some(port) = asked.page else {
        say(&nats, name, &manifest, asked.format)?;
        return Ok(exit::PASSED);
    };
    let page = LivePage::serve(port)?;
    print::out(&format!("page: {}\n", page.url));
    os::catch_interrupts();
    let queue = NatsQueue::open(&run, &manifest).map_err(wrong)?;
    while os::interrupts() == 0 {
        let manifest = run.manifest().ok().flatten().unwrap_or_else(|| manifest.clone());
        if let Ok(standing) = Standing::look(&run, &manifest, &queue) {
            page.show(&standing);
        }
        thread::sleep(LOOK);
    }
    Ok(exit::PASSED)
}

fn say(nats: &Nats, name: &str, manifest: &Manifest, format: Format) -> Result<(), DriverError> {
    if let Err(error) = manifest.check_version() {
        print::out(&format!("{name}: {error}\n"));
        return Ok(());
    }
    let (run, manifest) = Run::find(nats, name).map_err(wrong)?;
    let queue = NatsQueue::open(&run, &manifest).map_err(wrong)?;
    let standing = Standing::look(&run, &manifest, &queue).map_err(wrong)?;
    match format {
        Format::Human => print::out(&standing.text()),
        Format::Json => {
            let line = serde_json::to_string(&standing)
                .map_err(|error| DriverError::tool(error.to_string()))?;
            print::out(&format!("{line}\n"));
        }
    }
    Ok(())
}
