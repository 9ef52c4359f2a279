#!/bin/bash
# Run by a test with the variables that Slurm sets. Untried under Slurm itself.
# Four workers that share one measurement; the settings follow the name of this file:
#   sbatch deploy/jobs/slurm.sh --model minilm --corpus python-docs --sample-size all --store /shared/store
#SBATCH --job-name=clsviz
#SBATCH --array=0-3
#SBATCH --cpus-per-task=8
#SBATCH --mem=4G
#SBATCH --requeue
set -euo pipefail
export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"
exec python3 -m clsviz measure "$@" --rank "$SLURM_ARRAY_TASK_ID" --of "$SLURM_ARRAY_TASK_COUNT" --progress json
