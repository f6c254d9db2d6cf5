// The CUDA driver passes the driver contract: on softcuda, or on a GPU with TESSERA_TEST_CUDA=1.
#include "cuda_machine.hpp"
#include "driver_contract.hpp"

namespace tessera::contract {

class CudaContractMachine : public CudaMachine {
 public:
  // CUDA leaves the use of a destroyed handle undefined; softcuda ends the process.
  static constexpr bool kFindsDestroyedHandles = false;

  // Looked up in advance: threads of the suite call this, and only this thread has a context.
  const void* churn_kernel() const { return churn_; }
  void finish() {}

 private:
  const void* const churn_ = kernel("contract_kernels", "churn");
};

TESSERA_JOIN_DRIVER_CONTRACT(Cuda, CudaContractMachine);

}  // namespace tessera::contract
