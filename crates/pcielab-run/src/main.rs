//! `pcielab-run`: a suite on a device or a simulated system, into a store, where there is no Python: on a machine that is only
//! measured, or in an initramfs. It does what `pcielab run` and `pcielab devices` do, from JSON; reports are made elsewhere, from
//! the store.

mod bench;
mod failure;
mod input;
mod run;

use clap::{Parser, Subcommand};
use failure::Failure;
use pcie_vfio::{Address, Purpose, Tree};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs a suite on a device or a simulated system into a store, where there is no Python.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  python -c 'from pcielab import load_suite; print(load_suite(\"nvme\").to_json())' > nvme.json   (where pcielab is)
  echo '{\"kind\": \"nvme\", \"address\": \"0000:3b:00.0\"}' > bench.json
  sudo pcielab-run bind 0000:3b:00.0 --user $USER
  pcielab-run run bench.json nvme.json -o drive.db
  sudo pcielab-run release 0000:3b:00.0";

#[derive(Subcommand)]
enum Command {
    /// Run a suite into a store.
    Run(run::RunArguments),
    /// List the devices that could be measured, as JSON, with what stands in the way of each.
    Devices,
    /// Make a device ready: give it to vfio-pci, or to nobody. For root.
    Bind {
        /// Where it is, such as 0000:3b:00.0.
        address: String,
        /// Leave it without a driver, for stores into its BARs (pio).
        #[arg(long)]
        unbound: bool,
        /// Who is to measure it.
        #[arg(long)]
        user: Option<String>,
    },
    /// Give a device back to the driver that the kernel chooses. For root.
    Release {
        /// Where it is.
        address: String,
    },
    /// Put a device through the contract of back ends: what it does not keep to comes out, line by line.
    Contract {
        /// The device, as for run.
        bench: PathBuf,
        /// Tests to try, as JSON.
        trial: PathBuf,
        /// Faults to inject, as JSON.
        #[arg(long)]
        faults: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    match carry_out(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("pcielab-run: {}", failure.message());
            failure.exit_code()
        }
    }
}

fn carry_out(command: Command) -> Result<(), Failure> {
    let address = |text: &str| text.parse::<Address>().map_err(Failure::from);
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Devices => {
            println!("{}", input::pretty(&pcie_vfio::devices(&Tree::here()))?);
            Ok(())
        }
        Command::Bind { address: place, unbound, user } => {
            let purpose = if unbound { Purpose::Stores } else { Purpose::Vfio };
            Ok(pcie_vfio::bind(&Tree::here(), address(&place)?, purpose, user.as_deref())?)
        }
        Command::Release { address: place } => Ok(pcie_vfio::release(&Tree::here(), address(&place)?)?),
        Command::Contract { bench, trial, faults } => run::contract(&bench, &trial, faults.as_deref()),
    }
}
